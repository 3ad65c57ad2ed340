package bootstrap_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// bundlesOf returns the bundles of a slot and of a worker of a release with crictl.
func bundlesOf(t *testing.T, resourceSet, kubernetes string, change func(*model.Cluster)) (slot, worker *bootstrap.Bundle) {
	t.Helper()
	f := newFixture()
	f.release.Spec.ResourceSet, f.release.Spec.Kubernetes = resourceSet, kubernetes
	f.release.Spec.Artifacts = append(f.release.Spec.Artifacts, artifact("crictl", "/usr/local/bin", v1alpha1.ArtifactTarGz))
	c, g := f.mustResolve(t)
	if change != nil {
		change(c)
	}
	slot, err := bootstrap.ControlPlane(c, 0, outputs)
	if err != nil {
		t.Fatal(err)
	}
	worker, err = bootstrap.Worker(c, g, outputs, []byte(caCertificate))
	if err != nil {
		t.Fatal(err)
	}
	return slot, worker
}

// file returns the content of a bundle's file, empty if there is none.
func file(b *bootstrap.Bundle, path string) string {
	i := slices.IndexFunc(b.Files, func(f bundle.File) bool { return f.Path == path })
	if i < 0 {
		return ""
	}
	return b.Files[i].Content
}

const kubeletPatch = "/etc/kubernetes/patches/kubeletconfiguration+merge.yaml"

// On Ubuntu, logind does not let a kubelet ask for more than 30 seconds, and one that does gets
// none: https://github.com/kubernetes/kubernetes/issues/102818.
func TestPodsGetTheTimeToEndThatLogindAllows(t *testing.T) {
	for set, want := range map[string][]string{
		release.Set110: {"shutdownGracePeriod: 60s", "shutdownGracePeriodCriticalPods: 20s"},
		release.Set120: {"shutdownGracePeriod: 30s", "shutdownGracePeriodCriticalPods: 10s"},
	} {
		slot, worker := bundlesOf(t, set, "v1.36.3", nil)
		for _, text := range []string{slot.Kubeadm.Config, file(worker, kubeletPatch)} {
			for _, line := range want {
				if !strings.Contains(text, line+"\n") {
					t.Errorf("%s: there is no %s in\n%s", set, line, text)
				}
			}
		}
	}
}

func TestSlotsStartContainersAgainWithinAMinute(t *testing.T) {
	for name, c := range map[string]struct {
		set, kubernetes string
		want            bool
	}{
		"a set before":                       {release.Set110, "v1.36.3", false},
		"a kubelet that refuses the field":   {release.Set120, "v1.34.11", false},
		"the first kubelet that knows it":    {release.Set120, "v1.35.8", true},
		"a kubelet that knows it by default": {release.Set120, "v1.36.4", true},
	} {
		t.Run(name, func(t *testing.T) {
			slot, worker := bundlesOf(t, c.set, c.kubernetes, nil)
			const restart, folder = "maxContainerRestartPeriod: 60s\n", "patches:\n  directory: /etc/kubernetes/patches\n"
			if got := strings.Contains(file(slot, kubeletPatch), restart); got != c.want ||
				strings.Contains(slot.Kubeadm.Config, folder) != c.want {
				t.Errorf("patched: %t, want %t:\n%s", got, c.want, slot.Kubeadm.Config)
			}
			if strings.Contains(slot.Kubeadm.Config, restart) || strings.Contains(file(worker, kubeletPatch), restart) {
				t.Error("workers get it as well, of whatever version they are")
			}
		})
	}
}

func TestCrictlKnowsWhereContainerdIs(t *testing.T) {
	for set, want := range map[string]bool{release.Set110: false, release.Set120: true} {
		slot, worker := bundlesOf(t, set, "v1.36.3", nil)
		for _, b := range []*bootstrap.Bundle{slot, worker} {
			if text := file(b, "/etc/crictl.yaml"); strings.Contains(
				text, "runtime-endpoint: unix:///run/containerd/containerd.sock\n",
			) != want {
				t.Errorf("%s: crictl.yaml is %q", set, text)
			}
		}
	}
}

// Tokens for public.ecr.aws are issued in us-east-1 only, to credentials of that partition.
func TestCredentialsForThePublicRegistryAreAskedForWhereTheyAreIssued(t *testing.T) {
	china := func(c *model.Cluster) { c.Partition, c.DNSSuffix = "aws-cn", "amazonaws.com.cn" }
	for name, c := range map[string]struct {
		set    string
		change func(*model.Cluster)
		want   bool
	}{
		"AWS":                 {release.Set120, nil, true},
		"China":               {release.Set120, china, false},
		"China, a set before": {release.Set110, china, true},
	} {
		_, worker := bundlesOf(t, c.set, "v1.36.3", c.change)
		text := file(worker, "/etc/kubernetes/credential-provider.yaml")
		if strings.Contains(text, `"public.ecr.aws"`) != c.want || !strings.Contains(text, ".dkr.ecr.*.") {
			t.Errorf("%s: asked for: %t, want %t:\n%s", name, !c.want, c.want, text)
		}
	}
}
