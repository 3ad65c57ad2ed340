package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/plan"
)

// A plan of a control plane that shrinks deletes the stacks of the slots that leave, the highest first, and
// their volumes, and needs no annotation for that.
func TestPlanOfAControlPlaneThatShrinks(t *testing.T) {
	w := newSuite(t)
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default"},
		Spec: v1alpha1.ClusterSpec{
			Release: "v1.36.4", Region: region,
			Network:      v1alpha1.Network{CIDR: "10.0.0.0/16", Zones: []string{"eu-central-1a"}, Topology: v1alpha1.TopologyPrivate},
			ControlPlane: v1alpha1.ControlPlane{Replicas: 3, InstanceType: "m6i.large"},
		},
	}
	w.put(w.simulated("v1.36.4"), cluster)
	w.apply("demo")
	in := w.input("demo")
	w.observe(in.Cluster)
	in.Cluster.Spec.ControlPlane.Replicas = 1
	made, err := plan.Of(t.Context(), in, w.options(plan.Options{}))
	w.must(err)
	var deleted, volumes []string
	for i := range made.Stacks {
		s := &made.Stacks[i]
		if s.Action == plan.Delete {
			deleted = append(deleted, s.Name)
		}
		for _, r := range s.Resources {
			if s.Action == plan.Update && r.Action == plan.Delete {
				volumes = append(volumes, r.LogicalID)
			}
		}
	}
	if !slices.Equal(deleted, []string{"demo-control-plane-2", "demo-control-plane-1"}) || !slices.Equal(volumes, []string{"EtcdVolume1", "EtcdVolume2"}) {
		t.Errorf("the plan deletes the stacks %v and the volumes %v:\n%s", deleted, volumes, text(t, made))
	}
	goldenText(t, "shrinks.txt", text(t, made))
}

// observe fills in what an operator's status says of the stacks that exist.
func (w *suite) observe(cluster *v1alpha1.Cluster) {
	w.t.Helper()
	all, err := w.cloudformation().DescribeStacks(w.t.Context(), &cloudformation.DescribeStacksInput{})
	w.must(err)
	cluster.Status.Outputs = map[string]string{}
	for i := range all.Stacks {
		s := &all.Stacks[i]
		if !strings.HasPrefix(aws.ToString(s.StackName), cluster.Name) {
			continue
		}
		status := v1alpha1.StackStatus{Name: aws.ToString(s.StackName), Status: string(s.StackStatus)}
		cluster.Status.Stacks = append(cluster.Status.Stacks, status)
		for _, output := range s.Outputs {
			cluster.Status.Outputs[aws.ToString(output.OutputKey)] = aws.ToString(output.OutputValue)
		}
	}
}
