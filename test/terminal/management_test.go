package terminal

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/simulator/machine/fake"
	"github.com/aws-operator/aws-operator/test/inventory"
)

// The management cluster keeps the definition, and its operator does what the commands ask for.
func TestTheLifeOfAClusterInTheManagementCluster(t *testing.T) {
	t.Parallel()
	p := newPerson(t, fake.Options{})
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
	operator := p.start("operator", "--kubeconfig="+p.path("kubeconfig"), "--nodeup-dir="+p.path("nodeup"), "--aws-endpoint-url="+p.endpoint,
		"--aws-region="+region, "--aws-api-budget=unlimited", "--watch-namespace="+namespace, "--metrics-bind-address=0", "--health-probe-bind-address=0")
	operator.await("Starting workers")

	p.manifests("demo.yaml", asItIs)
	command(0, "apply", "-f", "demo.yaml", "--yes")
	command(0, "plan", "-f", "demo.yaml", "--detailed-exitcode")
	p.run(0, "get", "clusters", "-n", namespace)
	p.run(0, "get", "instancegroups", "-n", namespace)
	p.run(0, "get", "instancegroups", "-n", namespace, "-o", "wide")

	p.manifests("demo.yaml", func(_ *v1alpha1.Cluster, g *v1alpha1.InstanceGroup) {
		g.Spec.InstanceTypes = []string{"m6a.large"}
		g.Spec.RollingUpdate.BatchSize = new(intstr.FromInt32(2))
	})
	command(2, "plan", "-f", "demo.yaml", "--detailed-exitcode")
	command(0, "apply", "-f", "demo.yaml", "--yes")
	p.run(0, "rolling-update", "cluster", "demo", "-n", namespace)
	p.run(0, "rolling-update", "cluster", "demo", "-n", namespace, "--yes")
	p.run(0, "rolling-update", "cluster", "demo", "-n", namespace, "--force", "--instance-group", "workers", "--yes")
	command(0, "upgrade", "cluster", "demo")
	command(0, "upgrade", "cluster", "demo", "--release", to, "--yes")
	p.run(0, "validate", "cluster", "demo", "-n", namespace, "--wait", "1m")
	command(0, "delete", "cluster", "demo")
	command(0, "delete", "cluster", "demo", "--yes")
	left := slices.DeleteFunc(inventory.Of(t, p.aws()), func(line string) bool { return line == "stack aws-operator-events" }) // the operator's own
	if diff := cmp.Diff(before, left); diff != "" {
		t.Errorf("deletion left a trace (-before +after):\n%s", diff)
	}
}
