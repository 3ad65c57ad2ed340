package terraform

import (
	"path/filepath"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cli/replace"
	"github.com/aws-operator/aws-operator/internal/cli/template"
	"github.com/aws-operator/aws-operator/internal/cli/update"
)

// TestWorkflow goes the way of those who keep their clusters in Git, command for command.
func TestWorkflow(t *testing.T) {
	c := newCloud(t)
	network := c.in(example(t, "1-prerequisites"))
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
	cluster.unchanged()
	t.Log(cluster.run("output", "-json"))

	cluster.destroy()
	network.destroy()
}
