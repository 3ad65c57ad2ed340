package terraform

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/cli/replace"
	"github.com/aws-operator/aws-operator/internal/cli/template"
	"github.com/aws-operator/aws-operator/internal/cli/update"
	"github.com/aws-operator/aws-operator/internal/cli/validate"
	"github.com/aws-operator/aws-operator/test/inventory"
)

// TestWorkflow goes the way of those who keep their clusters in Git, command for command: their own network, a cluster in it by
// Terraform alone, and back to nothing.
func TestWorkflow(t *testing.T) {
	c := newCloud(t)
	c.use()
	c.resolve()
	network := c.in(example(t, "1-prerequisites"))
	before := inventory.Of(t, c.config())
	network.apply()
	network.unchanged()

	dir := example(t, "2-cluster")
	values, manifest, state := filepath.Join(dir, "values.json"), filepath.Join(dir, "cluster.yml"), filepath.Join(dir, "state")
	write(t, values, network.run("output", "-json"))
	c.command(template.Command(), "--template", filepath.Join(dir, "cluster-template.yml"), "--values-terraform", values, "--format-yaml", "--output", manifest)
	c.command(replace.Command(), "-f", manifest, "--state", state)
	c.command(update.Command(), "cluster", "demo", "--state", state, "--target", "terraform", "--out", dir, "--nodeup-dir", programs(t))

	cluster := c.in(dir)
	cluster.run("fmt", "-check", "-recursive", "-no-color")
	cluster.run("validate", "-no-color")
	cluster.apply()
	c.command(validate.Command(), "cluster", "demo", "--state", state, "--wait", "2m", "--interval", "1s")
	c.knowsNoSecret(cluster, state)
	// Who plans has not got the keys.
	if err := os.RemoveAll(filepath.Join(dir, "data/demo/secrets")); err != nil {
		t.Fatal(err)
	}
	cluster.unchanged()

	cluster.destroy()
	network.unchanged()
	network.destroy()
	// Each of etcd's volumes leaves a last snapshot, on purpose, as with CloudFormation: they are not Terraform's to destroy.
	const slots = 3
	after, snapshots := []string(nil), 0
	for _, line := range inventory.Of(t, c.config()) {
		if strings.HasPrefix(line, "snapshot ") {
			snapshots++
			continue
		}
		after = append(after, line)
	}
	if diff := cmp.Diff(before, after); diff != "" || snapshots != slots {
		t.Errorf("%d snapshots are left, and something else is (-before +after):\n%s", snapshots, diff)
	}
}

// knowsNoSecret looks for the cluster's keys, and the token that its workers join with, in Terraform's state.
func (c *cloud) knowsNoSecret(p *terraform, state string) {
	c.t.Helper()
	known := p.run("state", "pull")
	for _, secret := range append(c.keysOf(state), c.token()) {
		if secret == "" || strings.Contains(known, secret) {
			c.t.Errorf("a secret of %d letters is in Terraform's state, or there is none", len(secret))
		}
	}
}
