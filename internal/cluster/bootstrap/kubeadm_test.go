package bootstrap_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// TestKubeadmAcceptsItsConfiguration has kubeadm itself validate the configuration of slots and
// workers, and shows that it refuses a load balancer's name as AWS gives it.
func TestKubeadmAcceptsItsConfiguration(t *testing.T) {
	for program, kubernetes := range map[string]string{"kube": "v1.36.3", "kube-previous": "v1.35.4"} {
		kube, err := filepath.Abs("../../../bin/" + program)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(kube); err != nil {
			t.Logf("bin/%s is not built, so kubeadm %s judges nothing: make build previous", program, kubernetes)
			continue
		}
		validate := func(config string) (said string, err error) {
			folder := t.TempDir()
			join, file := filepath.Join(folder, "join.conf"), filepath.Join(folder, "kubeadm.yaml")
			expanded, err := bundle.Expand(
				strings.NewReplacer(bundle.JoinKubeconfig, join, "/etc/kubernetes/discovery.conf", join).Replace(config),
				map[string]string{
					bundle.NodeName: "ip-10-0-0-5.eu-central-1.compute.internal", bundle.PrivateIP: "10.0.0.5",
					bundle.BootstrapToken: "abcdef.0123456789abcdef", bundle.EtcdClusterState: "new",
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{join: "apiVersion: v1\nkind: Config\n", file: expanded} {
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, err := exec.CommandContext(t.Context(), kube, "kubeadm", "config", "validate", "--config", file).CombinedOutput()
			return string(out), err
		}
		for _, set := range []string{release.Set110, release.Set120} {
			slot, worker := bundlesOf(t, set, kubernetes, nil)
			for role, config := range map[string]string{"slot": slot.Kubeadm.Config, "worker": worker.Kubeadm.Config} {
				if said, err := validate(config); err != nil {
					t.Errorf("kubeadm %s refuses the configuration of a %s of resource set %s: %s", kubernetes, role, set, said)
				}
			}
			given := outputs[model.OutputAPIAddress]
			if said, err := validate(strings.ReplaceAll(slot.Kubeadm.Config, strings.ToLower(given), given)); err == nil ||
				!strings.Contains(said, "RFC-1123") {
				t.Errorf("kubeadm %s does not refuse %s: %s", kubernetes, given, said)
			}
		}
	}
}
