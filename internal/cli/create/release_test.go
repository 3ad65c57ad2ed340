package create

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/manifest"
)

func runRelease(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := Command()
	cmd.SetArgs(append([]string{"release"}, args...))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestReleaseIsCreatedFromPublishedHashes(t *testing.T) {
	one, other := strings.Repeat("a1", 32), strings.Repeat("b2", 32)
	programs := filepath.Join(t.TempDir(), "programs.yaml")
	hashes := "{amd64: {1.36.5: " + one + "}, arm64: {1.36.5: " + other + "}}\n"
	text := "kubelet: " + hashes + "kubeadm: " + hashes
	if err := os.WriteFile(programs, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := runRelease(t, "--programs", programs, "--kubernetes=v1.36.5", "--from=v1.36.4", "--name=v1.36.5-acme.1")
	if err != nil {
		t.Fatal(err)
	}
	set, err := manifest.Read([]manifest.Source{{Name: "release.yaml", Reader: strings.NewReader(out)}}, manifest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	made, ok := set.Manifests[0].Object.(*v1alpha1.Release)
	if !ok || made.Name != "v1.36.5-acme.1" || made.Spec.Kubernetes != "v1.36.5" || made.Spec.ResourceSet != release.Set120 ||
		!release.Bootable(made) {
		t.Fatalf("made\n%s", out)
	}
	want := v1alpha1.ArtifactSource{URL: "https://dl.k8s.io/release/v1.36.5/bin/linux/arm64/kubelet", SHA256: other}
	if got := made.Spec.Artifacts[3].Sources[v1alpha1.ARM64]; got != want {
		t.Errorf("the kubelet for arm64 is %+v, want %+v", got, want)
	}
	// From a Release of one's own.
	own := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(own, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := runRelease(
		t, "--programs", programs, "--kubernetes=v1.36.5", "--from=v1.36.5-acme.1", "-f", own, "--name=v1.36.5-acme.2",
	); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct{ args, want string }{
		"a version without hashes":     {"--kubernetes=v1.36.6 --from=v1.36.4", "kubelet.amd64: the file has no version 1.36.6, only 1.36.5"},
		"a Release that there is not":  {"--kubernetes=v1.36.5 --from=v1.36.9", `--from: there is no Release "v1.36.9"; known Releases: v1.34.11`},
		"another minor version":        {"--kubernetes=v1.37.0 --from=v1.36.4", "spec.kubernetes: v1.37.0 is of another minor version"},
		"a name that is not a version": {"--kubernetes=v1.36.5 --from=v1.36.4 --name=acme", "use a version as the name"},
	} {
		if out, err := runRelease(t, append(strings.Fields(c.args), "--programs", programs)...); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s\n%s", name, err, c.want, out)
		}
	}
}
