package release_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// metrics-server verifies kubelets when the API servers do, and reads the CAs again in each stage of their
// rotation. In other clusters, its values are those of the release.
func TestMetricsServerVerifiesKubelets(t *testing.T) {
	const insecure = `{"args":["--kubelet-insecure-tls"]}`
	for name, one := range map[string]struct {
		serving v1alpha1.KubeletServing
		stage   v1alpha1.RotationStage
		want    string
	}{
		"the default":               {"", "", insecure},
		"self-signed certificates":  {v1alpha1.KubeletsSelfSigned, v1alpha1.RotationIssue, insecure},
		"certificates not verified": {v1alpha1.KubeletsIssued, v1alpha1.RotationIssue, insecure},
		"certificates verified":     {v1alpha1.KubeletsVerified, "", `{"args":[]}`},
		"during a rotation": {
			v1alpha1.KubeletsVerified, v1alpha1.RotationIssue, `{"args":[],"podAnnotations":{"cluster-operator.aws/rotation-stage":"Issue"}}`,
		},
		"after a rotation": {v1alpha1.KubeletsVerified, v1alpha1.RotationDone, `{"args":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Region: "eu-central-1"}}
			cluster.Spec.Certificates = &v1alpha1.Certificates{KubeletServing: one.serving}
			if one.stage != "" {
				cluster.Status.Certificates = &v1alpha1.CertificatesStatus{Rotation: &v1alpha1.CertificateRotation{Stage: one.stage}}
			}
			for name, of := range builtin(t) {
				if got := metricsServerOf(t, of, cluster); got != one.want {
					t.Errorf("%s: the values are %s, want %s", name, got, one.want)
				}
			}
		})
	}
}

func TestReleaseWithoutMetricsServerOrValues(t *testing.T) {
	cluster := &v1alpha1.Cluster{}
	cluster.Spec.Certificates = &v1alpha1.Certificates{KubeletServing: v1alpha1.KubeletsVerified}
	for _, addons := range [][]v1alpha1.ReleaseAddon{nil, {{Name: "metrics-server"}}} {
		if _, err := release.Addons(&v1alpha1.Release{Spec: v1alpha1.ReleaseSpec{Addons: addons}}, cluster); err != nil {
			t.Error(err)
		}
	}
	odd := []v1alpha1.ReleaseAddon{{Name: "metrics-server", Values: &runtime.RawExtension{Raw: []byte(`{"args":"--v=2"}`)}}}
	if got := metricsServerOf(t, &v1alpha1.Release{Spec: v1alpha1.ReleaseSpec{Addons: odd}}, cluster); got != `{"args":"--v=2"}` {
		t.Errorf("the values are %s", got)
	}
}

func metricsServerOf(t *testing.T, of *v1alpha1.Release, cluster *v1alpha1.Cluster) string {
	t.Helper()
	addons, err := release.Addons(of, cluster)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(addons, func(a v1alpha1.ReleaseAddon) bool { return a.Name == "metrics-server" })
	return string(addons[i].Values.Raw)
}
