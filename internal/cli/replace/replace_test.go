package replace

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func run(t *testing.T, in string, args ...string) (out, errOut string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	cmd := Command()
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&o)
	cmd.SetErr(&e)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

func TestManifestsOfKopsAreStoredTranslated(t *testing.T) {
	const kops = "../../kops/testdata/private.kops.yaml"
	dir := filepath.Join(t.TempDir(), "state")
	if _, _, err := run(t, "", "-f", kops, "--strict", "--state", dir); err == nil {
		t.Error("what is lost is accepted although --strict was given")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
	out, errOut, err := run(t, "", "-f", kops, "--state", dir)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, ": created\n") || !strings.HasPrefix(out, "Cluster ") || !strings.Contains(out, "InstanceGroup ") {
		t.Errorf("said %s", out)
	}
	if !strings.Contains(errOut, "warning: "+kops) || !strings.Contains(errOut, "Keep them safe") {
		t.Errorf("of what is lost is said:\n%s", errOut)
	}
	again, _, err := run(t, "", "-f", kops, "--state", dir)
	if err != nil || strings.Contains(again, "created") || strings.Contains(again, "changed\n") && !strings.Contains(again, "unchanged") {
		t.Errorf("the same again: %s, %v", again, err)
	}
}

func TestManifestsComeFromStandardInputAsWell(t *testing.T) {
	const release = `{"apiVersion": "cluster-operator.aws/v1alpha1", "kind": "Release", "metadata": {"name": "v1.36.3-acme.1"},
"spec": {"kubernetes": "v1.36.3", "resourceSet": "1.1.0", "images": {"amd64": {"parameter": "/images/acme"}}}}`
	dir := t.TempDir()
	out, _, err := run(t, release, "-f", "-", "--state", dir)
	if err != nil || out != "Release v1.36.3-acme.1: created\n" {
		t.Errorf("%s, %v", out, err)
	}
	out, _, err = run(t, strings.Replace(release, "/images/acme", "/images/other", 1), "-f", "-", "--state", dir)
	if err == nil || !strings.Contains(err.Error(), "images of a release cannot change: create a new one") || out != "" {
		t.Errorf("%s, %v", out, err)
	}
}

func TestReleaseWithoutHashesIsRefusedForClusters(t *testing.T) {
	const unbootable = `{"apiVersion": "cluster-operator.aws/v1alpha1", "kind": "Release", "metadata": {"name": "v1.36.3-acme.1"},
"spec": {"kubernetes": "v1.36.3", "resourceSet": "1.1.0", "images": {"amd64": {"parameter": "/images/acme"}, "arm64": {"parameter": "/images/acme"}},
"artifacts": [{"name": "kubelet", "path": "/usr/local/bin/kubelet", "sources": {
"amd64": {"url": "https://example.com/amd64", "sha256": "` + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" + `"},
"arm64": {"url": "https://example.com/arm64", "unverified": "it was not at hand"}}}]}}`
	const reason = "spec.artifacts[0] (kubelet) has no sha256 for arm64: it was not at hand"
	const why = "no arm64 instance can boot with release v1.36.3-acme.1: " + reason
	dir := t.TempDir()
	_, errOut, err := run(t, unbootable, "-f", "-", "--state", dir)
	if err != nil || !strings.Contains(errOut, "warning: no arm64 instance can boot with Release v1.36.3-acme.1: "+reason) {
		t.Errorf("%s, %v", errOut, err)
	}
	const cluster = `apiVersion: cluster-operator.aws/v1alpha1
kind: Cluster
metadata: {name: demo}
spec:
  release: v1.36.3-acme.1
  region: eu-central-1
  network: {cidr: 10.0.0.0/16, zones: [eu-central-1a]}
  controlPlane: {instanceType: m6i.large}
---
apiVersion: cluster-operator.aws/v1alpha1
kind: InstanceGroup
metadata: {name: demo-workers}
spec: {cluster: demo, minSize: 1, maxSize: 3, instanceTypes: [m7g.large], architecture: arm64}
`
	if _, _, err := run(t, cluster, "-f", "-", "--state", dir); err == nil ||
		!strings.Contains(err.Error(), "spec.cluster: "+why+"; name another release") {
		t.Errorf("an instance group of that architecture: %v", err)
	}
	if _, _, err := run(t, strings.Replace(cluster, "m6i.large", "m7g.large", 1), "-f", "-", "--state", dir); err == nil ||
		!strings.Contains(err.Error(), "spec.release: "+why) {
		t.Errorf("a control plane of that architecture: %v", err)
	}
	if _, _, err := run(
		t, strings.NewReplacer("m7g.large", "m6i.large", ", architecture: arm64", "").Replace(cluster), "-f", "-", "--state", dir,
	); err != nil {
		t.Errorf("the other architecture: %v", err)
	}
}
