package bootstrap_test

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// A slot fetches the files of its stage, and kube-controller-manager signs with a file that has one CA.
func TestSlotFetchesTheFilesOfItsStage(t *testing.T) {
	const next = "pki/0123456789abcdef/"
	for stage, want := range map[v1alpha1.RotationStage]struct{ certificates, keys, signing string }{
		"":                      {"pki/", "pki/", ""},
		v1alpha1.RotationTrust:  {next + "trust/", "pki/", "pki/ca.crt"},
		v1alpha1.RotationIssue:  {next + "issue/", next, next + "ca.crt"},
		v1alpha1.RotationRenew:  {next + "issue/", next, next + "ca.crt"},
		v1alpha1.RotationForget: {next, next, ""},
	} {
		c, _ := newFixture().mustResolve(t)
		if stage != "" {
			c.Keys = model.Keys{Next: next, Stage: stage}
		}
		b, err := bootstrap.ControlPlane(c, 0, outputs)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, file := range b.PKI {
			got[strings.TrimPrefix(file.Path, "/etc/kubernetes/pki/")] = file.Key
		}
		expected := map[string]string{}
		for _, name := range []string{"ca", "etcd/ca", "front-proxy-ca"} {
			expected[name+".crt"], expected[name+".key"] = want.certificates+name+".crt", want.keys+name+".key"
		}
		expected["sa.pub"], expected["sa.key"] = want.certificates+"sa.pub", want.keys+"sa.key"
		mixed := want.signing != ""
		if mixed {
			expected["signing-ca.crt"], expected["cross-ca.crt"] = want.signing, want.certificates+"cross-ca.crt"
		}
		if !maps.Equal(got, expected) {
			t.Errorf("in stage %q a slot fetches %v, want %v", stage, got, expected)
		}
		for _, text := range []string{
			"name: cluster-signing-cert-file\n    value: /etc/kubernetes/pki/signing-ca.crt",
			"name: tls-cert-file\n    value: /etc/kubernetes/pki/apiserver-chain.crt",
			"name: kubelet-client-certificate\n    value: /etc/kubernetes/pki/apiserver-kubelet-client-chain.crt",
		} {
			if strings.Contains(b.Kubeadm.Config, text) != mixed {
				t.Errorf("in stage %q kubeadm's configuration does not fit, concerning %q:\n%s", stage, text, b.Kubeadm.Config)
			}
		}
		var chained []string
		for _, chain := range b.Chains {
			chained = append(chained, path.Base(chain.Path))
		}
		if want := []string{"apiserver-chain.crt", "apiserver-kubelet-client-chain.crt"}; slices.Equal(chained, want) != mixed {
			t.Errorf("in stage %q a slot writes %v", stage, chained)
		}
	}
}

// Only the stages that replace a slot change its bundle, and the end of a rotation does not.
func TestBundlesChangeWithTheStagesThatReplaceSlots(t *testing.T) {
	const next = "pki/0123456789abcdef/"
	hash := func(keys model.Keys) string {
		c, _ := newFixture().mustResolve(t)
		c.Keys = keys
		b, err := bootstrap.ControlPlane(c, 0, outputs)
		if err != nil {
			t.Fatal(err)
		}
		return b.Hash()
	}
	of := func(stage v1alpha1.RotationStage) string { return hash(model.Keys{Next: next, Stage: stage}) }
	distinct := []string{hash(model.Keys{}), of(v1alpha1.RotationTrust), of(v1alpha1.RotationIssue), of(v1alpha1.RotationForget)}
	slices.Sort(distinct)
	if len(slices.Compact(distinct)) != 4 {
		t.Error("stages that replace slots have the same bundle")
	}
	if of(v1alpha1.RotationIssue) != of(v1alpha1.RotationRenew) || of(v1alpha1.RotationForget) != hash(model.Keys{Folder: next}) {
		t.Error("slots are replaced without a reason")
	}
}

func TestWorkerTrustsTwoCAs(t *testing.T) {
	c, g := newFixture().mustResolve(t)
	b, err := bootstrap.Worker(c, g, outputs, []byte(caCertificate+caCertificate))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(b.API.CACertificate, "BEGIN CERTIFICATE"); got != 2 {
		t.Errorf("it trusts %d CAs", got)
	}
	if _, err := bootstrap.Worker(c, g, outputs, []byte(caCertificate+caCertificate+caCertificate)); err == nil {
		t.Error("it trusts three CAs")
	}
}
