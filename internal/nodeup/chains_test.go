package nodeup_test

import (
	"testing"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/nodeup"
)

// A slot appends the certificate of one CA that the other one has issued to the API server's, and a reboot changes
// nothing of it.
func TestSlotWritesChains(t *testing.T) {
	b := slot()
	b.PKI = append(b.PKI, bundle.PKIFile{Key: "pki/next/trust/cross-ca.crt", Path: "/etc/kubernetes/pki/cross-ca.crt", Mode: "0644"})
	b.Chains = []bundle.Chain{{
		Path: "/etc/kubernetes/pki/apiserver-chain.crt", Certificate: "/etc/kubernetes/pki/apiserver.crt",
		Issuers: "/etc/kubernetes/pki/cross-ca.crt",
	}}
	m := newMachine(t, b)
	m.account.objects["pki/next/trust/cross-ca.crt"] = []byte("cross\n")
	for range 2 {
		if err := nodeup.Run(t.Context(), m.options); err != nil {
			t.Fatal(err)
		}
		if got := m.read(t, "/etc/kubernetes/pki/apiserver-chain.crt"); got != "leaf\ncross\n" {
			t.Errorf("the chain is %q", got)
		}
	}
}
