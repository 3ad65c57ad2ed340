package terraform

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/test/inventory"
)

// TestEKS creates an EKS cluster with Terraform, updates its version and its nodes, and destroys it.
func TestEKS(t *testing.T) {
	c := newCloud(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/eks")); err != nil {
		t.Fatal(err)
	}
	cluster := c.in(dir)
	before := inventory.Of(t, c.config())
	cluster.apply()
	cluster.unchanged()
	for output, prefix := range map[string]string{
		"endpoint": "https://", "issuer": "https://oidc.eks." + region + ".amazonaws.com/id/", "cluster_version": "1.35",
	} {
		if got := cluster.run("output", "-raw", output); !strings.HasPrefix(got, prefix) {
			t.Errorf("the %s is %s, want it to begin with %s", output, got, prefix)
		}
	}
	newer := []string{`-var=cluster_version=1.36`, `-var=node_version=1.36`, `-var=logs=["audit"]`}
	cluster.run(append([]string{"apply", "-auto-approve", "-input=false", "-no-color"}, newer...)...)
	for _, output := range []string{"cluster_version", "node_version"} {
		if got := cluster.run("output", "-raw", output); got != "1.36" {
			t.Errorf("the %s is %s", output, got)
		}
	}
	cluster.destroy()
	if diff := cmp.Diff(before, inventory.Of(t, c.config())); diff != "" {
		t.Errorf("something is left (-before +after):\n%s", diff)
	}
}
