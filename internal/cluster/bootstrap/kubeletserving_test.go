package bootstrap_test

import (
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// Kubelets of slots and workers request serving certificates by their own bundles, not by the ConfigMap
// that slots share with workers of all bundles, and slots decide about the requests. API servers verify
// them in the last step only, with all CAs that slots trust.
func TestServingCertificatesOfKubelets(t *testing.T) {
	const (
		requests = "serverTLSBootstrap: true\n"
		verifies = "- name: kubelet-certificate-authority\n    value: /etc/kubernetes/pki/ca.crt\n"
	)
	for _, kubernetes := range []string{"v1.34.11", "v1.36.4"} {
		plainSlot, plainWorker := bundlesOf(t, release.Set120, kubernetes, nil)
		for serving, want := range map[v1alpha1.KubeletServing]struct{ issued, verified bool }{
			"": {}, v1alpha1.KubeletsSelfSigned: {}, v1alpha1.KubeletsIssued: {issued: true}, v1alpha1.KubeletsVerified: {true, true},
		} {
			t.Run(kubernetes+" "+string(serving), func(t *testing.T) {
				slot, worker := bundlesOf(t, release.Set120, kubernetes, func(c *model.Cluster) {
					c.Spec.Certificates = &v1alpha1.Certificates{KubeletServing: serving}
				})
				if got := strings.Contains(file(slot, kubeletPatch), requests); got != want.issued ||
					strings.Contains(file(worker, kubeletPatch), requests) != want.issued || slot.Join.KubeletServing != want.issued {
					t.Errorf("requested by the slot: %t, want %t; by the worker:\n%s", got, want.issued, file(worker, kubeletPatch))
				}
				if strings.Contains(slot.Kubeadm.Config, requests) || worker.Join.KubeletServing {
					t.Error("the ConfigMap of all workers has it, or a worker decides about requests")
				}
				if want.issued && !strings.Contains(slot.Kubeadm.Config, "directory: /etc/kubernetes/patches\n") {
					t.Errorf("kubeadm does not read the patch:\n%s", slot.Kubeadm.Config)
				}
				if strings.Contains(slot.Kubeadm.Config, verifies) != want.verified {
					t.Errorf("verified: want %t:\n%s", want.verified, slot.Kubeadm.Config)
				}
				if unchanged := slot.Hash() == plainSlot.Hash() && worker.Hash() == plainWorker.Hash(); unchanged == want.issued {
					t.Errorf("the bundles are those without certificates: %t", unchanged)
				}
			})
		}
	}
}

// During a rotation of the CAs, the API servers verify kubelets with the file that has both, since some
// kubelets have certificates of the former CA, and others of the next one.
func TestAPIServersVerifyKubeletsDuringARotation(t *testing.T) {
	for _, stage := range []v1alpha1.RotationStage{
		v1alpha1.RotationTrust, v1alpha1.RotationIssue, v1alpha1.RotationRenew, v1alpha1.RotationForget,
	} {
		slot, _ := bundlesOf(t, release.Set120, "v1.36.4", func(c *model.Cluster) {
			c.Spec.Certificates = &v1alpha1.Certificates{KubeletServing: v1alpha1.KubeletsVerified}
			c.Keys = model.Keys{Next: "pki/next/", Stage: stage}
		})
		if !strings.Contains(slot.Kubeadm.Config, "value: /etc/kubernetes/pki/ca.crt\n") {
			t.Errorf("%s: the API server does not verify kubelets with ca.crt:\n%s", stage, slot.Kubeadm.Config)
		}
		for _, f := range slot.PKI {
			trusted := strings.HasPrefix(f.Key, "pki/next/")
			if f.Path == "/etc/kubernetes/pki/ca.crt" && !trusted {
				t.Errorf("%s: ca.crt is %s, which has one CA", stage, f.Key)
			}
		}
	}
}
