package terminal

import (
	"slices"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/machines/fake"
	"github.com/aws-operator/aws-operator/test/inventory"
)

// The management cluster stores the definition, and its operator applies it.
func TestClusterLifecycleInTheManagementCluster(t *testing.T) {
	t.Parallel()
	p := newUser(t, fake.Options{})
	plane := controlplanetest.SharedWithControllers(t)
	namespace := controlplanetest.Namespace(t, plane)
	p.write("kubeconfig", plane.Kubeconfig())
	p.env = append(p.env, "KUBECONFIG="+p.path("kubeconfig"), "AWS_OPERATOR_STATE=k8s")
	in := []string{"-n", namespace, "--nodeup-dir", p.path("nodeup")}
	command := func(code int, args ...string) (string, string) {
		t.Helper()
		return p.run(code, append(args, in...)...)
	}
	before := inventory.Of(t, p.aws())
	operator := p.start(
		"operator",
		"--kubeconfig="+p.path("kubeconfig"),
		"--nodeup-dir="+p.path("nodeup"),
		"--aws-endpoint-url="+p.endpoint,
		"--aws-region="+region,
		"--aws-api-budget=unlimited",
		"--watch-namespace="+namespace,
		"--metrics-bind-address=0",
		"--health-probe-bind-address=0",
	)
	operator.await("Starting workers")

	p.manifests("demo.yaml", asItIs)
	out, errOut := command(0, "apply", "-f", "demo.yaml", "--yes")
	p.says(out, "Plan: 46 to create, in 3 stacks.\n", "InstanceGroup workers: created\n", "Cluster demo is ready at https://")
	p.says(
		errOut,
		" stack demo: CREATE_IN_PROGRESS\n",
		" stack demo-workers: CREATE_COMPLETE\n",
		"(2/2 nodes) The instances are running and their nodes are ready.\n",
	)
	out, _ = command(0, "plan", "-f", "demo.yaml", "--detailed-exitcode")
	p.says(out, "No changes.\n")
	out, _ = p.run(0, "get", "clusters", "-n", namespace)
	p.says(out, "\ndemo   v1.35.7-simulated   v1.35.7   3/3     True    Ready\n")
	out, _ = p.run(0, "get", "instancegroups", "-n", namespace)
	p.says(out, "\nworkers   demo      v1.35.7   2     3     2/2     2/2       True    Ready\n")
	old := p.launchedAs("m6i.large", "demo-workers", 2)

	edited := func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) { g.Spec.InstanceTypes = []string{"m6a.large"} }
	p.manifests("demo.yaml", edited)
	out, _ = command(2, "plan", "-f", "demo.yaml", "--detailed-exitcode")
	p.says(out, `LaunchTemplateData/InstanceType: "m6i.large" → "m6a.large"`, "2 instances are replaced")
	_, errOut = command(0, "apply", "-f", "demo.yaml", "--yes")
	p.says(
		errOut,
		" stack demo-workers: UPDATE_IN_PROGRESS\n",
		"CloudFormation is replacing the group's instances",
		" stack demo-workers: UPDATE_COMPLETE\n",
	)
	p.replaced(old, "m6a.large", "demo-workers", 2)
	out, _ = p.run(0, "rolling-update", "cluster", "demo", "-n", namespace)
	p.says(out, "No instance needs to be replaced.\n")

	// The operator is asked to replace all machines. Removing that from the definition afterwards
	// replaces none.
	old = p.launchedAs("m6a.large", "demo-workers", 2)
	force := []string{"rolling-update", "cluster", "demo", "-n", namespace, "--force", "--instance-group", "workers"}
	_, errOut = p.run(1, append(force, "--yes", "--batch-size", "2")...)
	p.says(
		errOut,
		"Error: --batch-size cannot be used if the operator replaces the instances of workers: the operator uses spec.rollingUpdate.batchSize. Nothing was changed\n",
	)
	out, _ = p.run(0, force...)
	p.says(
		out,
		"Would ask the operator to replace all instances of workers, as it does for any change.\nNothing was changed. To replace them, add --yes.\n",
	)
	force = append(force, "--yes")
	out, errOut = p.run(0, force...)
	p.says(out, "workers: the operator was asked to replace all instances, with spec.roll: ", "All instances of workers are replaced.\n")
	p.says(errOut, "CloudFormation is replacing the group's instances", " stack demo-workers: UPDATE_COMPLETE\n")
	p.replaced(old, "m6a.large", "demo-workers", 2)
	out, _ = command(0, "plan", "-f", "demo.yaml", "--detailed-exitcode")
	p.says(out, "No changes.\n")

	// If the cluster is paused, the command replaces the machines.
	old = p.launchedAs("m6a.large", "demo-workers", 2)
	p.manifests("paused.yaml", func(c *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		edited(c, g)
		c.Annotations = map[string]string{"aws-operator/paused": "true"}
	})
	p.run(0, "replace", "-f", "paused.yaml", "-n", namespace)
	p.older(time.Second)
	p.run(0, force...)
	p.replaced(old, "m6a.large", "demo-workers", 2)
	p.run(0, "replace", "-f", "demo.yaml", "-n", namespace)

	out, errOut = command(0, "upgrade", "cluster", "demo")
	p.says(
		out+errOut,
		"* v1.36.4 (Kubernetes v1.36.4)\n",
		"  "+to+" (Kubernetes v1.36.3)\n",
		"3 instances are replaced",
		"add --release v1.36.4 --yes.\n",
	)
	out, _ = command(0, "upgrade", "cluster", "demo", "--release", to, "--yes")
	p.says(out, "Cluster demo runs release "+to+".\n")
	out, _ = p.run(0, "validate", "cluster", "demo", "-n", namespace, "--wait", "1m")
	p.says(out, "Cluster demo is healthy.")
	out, errOut = command(0, "delete", "cluster", "demo")
	p.says(
		out+errOut,
		"AWS::AutoScaling::AutoScalingGroup",
		"AWS::EC2::Snapshot",
		"Nothing has been removed. To delete cluster demo, add --yes.\n",
	)
	p.saysNot(out, "arn:aws:")
	_, errOut = command(0, "delete", "cluster", "demo", "--yes")
	p.says(errOut, " stack demo: DELETE_IN_PROGRESS\n", "\nCluster demo is deleted.\n")
	out, _ = p.run(0, "get", "clusters", "-n", namespace)
	p.saysNot(out, "demo")
	left := slices.DeleteFunc(
		inventory.Of(t, p.aws()), func(line string) bool { return line == "stack aws-operator-events" },
	) // the operator's own
	if !slices.Equal(before, left) {
		t.Errorf("deletion left a trace: %v, before: %v", left, before)
	}
}
