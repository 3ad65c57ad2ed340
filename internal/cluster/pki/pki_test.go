package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/cluster/pki"
)

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func newCAs(t *testing.T) *pki.CAs {
	t.Helper()
	cas, err := pki.New(clocktesting.NewFakePassiveClock(start))
	if err != nil {
		t.Fatal(err)
	}
	return cas
}

func TestFilesAreWhatASlotFetches(t *testing.T) {
	files := newCAs(t).Files()
	want := []string{
		"pki/ca.crt", "pki/ca.key", "pki/etcd/ca.crt", "pki/etcd/ca.key",
		"pki/front-proxy-ca.crt", "pki/front-proxy-ca.key", "pki/sa.key", "pki/sa.pub",
	}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("the files are %v", got)
	}
	for _, ca := range []string{"pki/ca", "pki/etcd/ca", "pki/front-proxy-ca"} {
		pair, err := tls.X509KeyPair(files[ca+".crt"], files[ca+".key"])
		if err != nil {
			t.Fatalf("%s: %v", ca, err)
		}
		if !pair.Leaf.IsCA || pair.Leaf.NotAfter.Sub(start) < 9*365*24*time.Hour {
			t.Errorf("%s is no authority for ten years", ca)
		}
	}
}

// What holds keys says so, and nothing of them, however it is printed.
func TestNothingPrintsASecret(t *testing.T) {
	cas := newCAs(t)
	token, err := pki.NewToken()
	if err != nil {
		t.Fatal(err)
	}
	printed := fmt.Sprintf("%v %+v %#v %s %v %+v %#v", cas, cas, cas, cas, token, token, token)
	if _, err := json.Marshal(cas); err == nil {
		t.Error("authorities are written as JSON")
	}
	encoded, err := json.Marshal(map[string]any{"token": token})
	if err != nil {
		t.Fatal(err)
	}
	printed += string(encoded) + fmt.Sprint(cas.MarshalLog(), token.MarshalLog())
	for _, secret := range []string{"PRIVATE KEY", token.Secret()} {
		if strings.Contains(printed, secret) {
			t.Errorf("printed: %s", printed)
		}
	}
	if _, err := pki.ParseToken("abcdef.THISISSECRET"); err == nil || strings.Contains(err.Error(), "THISISSECRET") {
		t.Errorf("a bad token's error is %v", err)
	}
}

func TestTokenIsReadBack(t *testing.T) {
	token, err := pki.NewToken()
	if err != nil {
		t.Fatal(err)
	}
	read, err := pki.ParseToken(token.Value())
	if err != nil || read != token || token.Value() != token.ID()+"."+token.Secret() {
		t.Errorf("%v is read back as %v, %v", token, read, err)
	}
}

var admin = pki.KubeconfigInput{
	Cluster: "demo", Server: "https://127.0.0.5:6443", ServerName: "kubernetes", CommonName: "admin",
	Organisations: []string{pki.GroupAdmins}, Validity: 90 * 24 * time.Hour,
}

func TestKubeconfig(t *testing.T) {
	cas := newCAs(t)
	written, err := cas.Kubeconfig(clocktesting.NewFakePassiveClock(start), admin)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(written)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != admin.Server || config.ServerName != admin.ServerName {
		t.Errorf("it leads to %s, %s", config.Host, config.ServerName)
	}
	block, _ := pem.Decode(config.CertData)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cas.CACertificate())
	if _, err := certificate.Verify(x509.VerifyOptions{
		Roots: roots, CurrentTime: start, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		t.Error(err)
	}
	if !slices.Equal(certificate.Subject.Organization, admin.Organisations) || certificate.Subject.CommonName != "admin" {
		t.Errorf("it is for %v", certificate.Subject)
	}
}

func TestKubeconfigIsRenewed(t *testing.T) {
	cas := newCAs(t)
	written, err := cas.Kubeconfig(clocktesting.NewFakePassiveClock(start), admin)
	if err != nil {
		t.Fatal(err)
	}
	moved, regrouped := admin, admin
	moved.Server = "https://127.0.0.6:6443"
	regrouped.Organisations = []string{pki.GroupMasters}
	for reason, c := range map[string]struct {
		by    *pki.CAs
		after time.Duration
		in    pki.KubeconfigInput
		is    []byte
		due   string
	}{
		"new":                               {cas, 0, admin, written, ""},
		"with half of its life left":        {cas, 45 * 24 * time.Hour, admin, written, ""},
		"with less than a third left":       {cas, 61 * 24 * time.Hour, admin, written, "its certificate expires on 2027-02-18"},
		"over":                              {cas, 365 * 24 * time.Hour, admin, written, "its certificate expires on 2027-02-18"},
		"for an address that has moved":     {cas, 0, moved, written, "the API's address has changed"},
		"for other groups":                  {cas, 0, regrouped, written, "its groups have changed"},
		"not there":                         {cas, 0, admin, nil, "there is none"},
		"something else":                    {cas, 0, admin, []byte("{"), "it cannot be read"},
		"of a CA that is not the cluster's": {newCAs(t), 0, admin, written, "it trusts another CA"},
	} {
		clock := clocktesting.NewFakePassiveClock(start.Add(c.after))
		if got := c.by.KubeconfigDue(clock, c.in, c.is); got != c.due {
			t.Errorf("%s: due because %q; want %q", reason, got, c.due)
		}
	}
}
