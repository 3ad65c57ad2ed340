package terraform

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/cli/deletion"
	"github.com/aws-operator/aws-operator/internal/cli/replace"
	"github.com/aws-operator/aws-operator/internal/cli/rollingupdate"
	"github.com/aws-operator/aws-operator/internal/cli/template"
	"github.com/aws-operator/aws-operator/internal/cli/update"
	"github.com/aws-operator/aws-operator/internal/cli/validate"
	"github.com/aws-operator/aws-operator/test/inventory"
)

// TestWorkflow runs the workflow of users who keep their clusters in Git, command for command:
// their own network, a cluster in it created by Terraform alone, an edit that replaces all its
// machines, and the deletion of everything.
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
	c.command(
		template.Command(),
		"--template",
		filepath.Join(dir, "cluster-template.yml"),
		"--values-terraform",
		values,
		"--format-yaml",
		"--output",
		manifest,
	)
	c.command(replace.Command(), "-f", manifest, "--state", state)
	c.command(update.Command(), "cluster", "demo", "--state", state, "--target", "terraform", "--out", dir, "--nodeup-dir", programs(t))

	cluster := c.in(dir)
	cluster.run("fmt", "-check", "-recursive", "-no-color")
	cluster.run("validate", "-no-color")
	cluster.apply()
	c.command(validate.Command(), "cluster", "demo", "--state", state, "--wait", "2m", "--interval", "1s")
	c.knowsNoSecret(cluster, state)
	// Planning must not need the cluster's keys.
	if err := os.RemoveAll(filepath.Join(dir, "data/demo/secrets")); err != nil {
		t.Fatal(err)
	}
	cluster.unchanged()
	c.scaledByOthers(cluster, "demo-nodes", 3)
	c.readByTheNextLayer(cluster)
	c.renamed(cluster, state)

	edit(
		t,
		filepath.Join(dir, "cluster-template.yml"),
		"    replicas: 3\n",
		"    replicas: 3\n    instanceType: m6i.xlarge\n",
		"[m6i.large",
		"[m6i.xlarge",
	)
	c.command(
		template.Command(),
		"--template",
		filepath.Join(dir, "cluster-template.yml"),
		"--values-terraform",
		values,
		"--format-yaml",
		"--output",
		manifest,
	)
	c.command(replace.Command(), "-f", manifest, "--state", state)
	c.command(update.Command(), "cluster", "demo", "--state", state, "--target", "terraform", "--out", dir, "--nodeup-dir", programs(t))
	cluster.apply()
	first := c.machines()
	shown := c.command(rollingupdate.Command(), "cluster", "demo", "--state", state)
	for _, group := range []string{"control-plane-0", "control-plane-1", "control-plane-2", "demo-nodes", "demo-spot"} {
		if !regexp.MustCompile(`(?m)^` + group + ` +NeedsUpdate `).MatchString(shown) {
			t.Errorf("the rolling update does not say that %s needs one:\n%s", group, shown)
		}
	}
	if diff := cmp.Diff(first, c.machines()); diff != "" {
		t.Errorf("a dry run of the rolling update changed the machines:\n%s", diff)
	}
	c.command(rollingupdate.Command(), "cluster", "demo", "--state", state, "--yes")
	second := c.machines()
	for id, kind := range second {
		if _, stayed := first[id]; stayed && kind != bastion {
			t.Errorf("%s, of type %s, was not replaced", id, kind)
		}
	}
	if len(second) != len(first) {
		t.Errorf("the machines are %v, before they were %v", second, first)
	}
	// The load balancer checks a new machine several times before it is healthy.
	c.command(validate.Command(), "cluster", "demo", "--state", state, "--wait", "2m", "--interval", "1s")
	cluster.unchanged()

	if shown := c.command(deletion.Command(), "cluster", "demo", "--state", state); !strings.Contains(shown, "Nothing has been removed") {
		t.Errorf("deletion without --yes does not only show what it would do: %s", shown)
	}
	c.command(deletion.Command(), "cluster", "demo", "--state", state, "--yes")
	repeated := cluster.destroy()
	network.unchanged()
	network.destroy()
	// As with CloudFormation, each of etcd's volumes intentionally leaves a last snapshot, which
	// Terraform does not destroy.
	const slots = 3
	after, snapshots := []string(nil), 0
	for _, line := range inventory.Of(t, c.config()) {
		if strings.HasPrefix(line, "snapshot ") {
			snapshots++
			continue
		}
		after = append(after, line)
	}
	if diff := cmp.Diff(before, after); diff != "" || snapshots != slots+repeated {
		t.Errorf("%d snapshots are left, or something else (-before +after):\n%s", snapshots, diff)
	}
}

// bastion is the instance type of the bastion in the example.
const bastion = "t3.micro"

// edit changes a file: it replaces the first text of each pair by the second.
func edit(t *testing.T, file string, pairs ...string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer(pairs...).Replace(string(text))
	if changed == string(text) {
		t.Fatalf("there is nothing to replace in %s", file)
	}
	write(t, file, changed)
}

// machines returns the types of the running instances, by ID.
func (c *cloud) machines() map[string]string {
	c.t.Helper()
	out, err := ec2.NewFromConfig(c.config()).DescribeInstances(c.t.Context(), &ec2.DescribeInstancesInput{
		Filters: []types.Filter{{Name: aws.String("instance-state-name"), Values: []string{"running"}}},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	found := map[string]string{}
	for _, reservation := range out.Reservations {
		for _, instance := range reservation.Instances {
			found[aws.ToString(instance.InstanceId)] = string(instance.InstanceType)
		}
	}
	return found
}

// knowsNoSecret searches Terraform's state for the cluster's keys and for the token with which
// workers join.
func (c *cloud) knowsNoSecret(p *terraform, state string) {
	c.t.Helper()
	known := p.run("state", "pull")
	for _, secret := range append(c.keysOf(state), c.token()) {
		if secret == "" || strings.Contains(known, secret) {
			c.t.Errorf("a secret of %d letters is in Terraform's state, or there is none", len(secret))
		}
	}
}
