package plan_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/plan"
)

// A plan of a slot that moves to another zone creates a volume there, replaces the slot's instance and deletes
// the former volume, and replaces no volume. Only an operator moves slots, and never the only one.
func TestPlanOfASlotThatMoves(t *testing.T) {
	w := newSuite(t)
	zones := []string{"eu-central-1a", "eu-central-1b", "eu-central-1c"}
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "default"},
		Spec: v1alpha1.ClusterSpec{
			Release: "v1.36.4", Region: region,
			Network:      v1alpha1.Network{CIDR: "10.0.0.0/16", Zones: zones, Topology: v1alpha1.TopologyPrivate, NAT: v1alpha1.NATSingle},
			ControlPlane: v1alpha1.ControlPlane{Replicas: 3, InstanceType: "m6i.large"},
		},
	}
	w.put(w.simulated("v1.36.4"), cluster)
	w.apply("demo")
	in := w.input("demo")
	w.observe(in.Cluster)
	in.Cluster.Spec.ControlPlane.Zones = []string{zones[0], zones[2], zones[2]}
	made, err := plan.Of(t.Context(), in, w.options(plan.Options{}))
	w.must(err)
	var changes []string
	for i := range made.Stacks {
		for _, r := range made.Stacks[i].Resources {
			changes = append(changes, made.Stacks[i].Name+" "+r.LogicalID+" "+string(r.Action))
		}
		if refused := made.Stacks[i].Refused; len(refused) > 0 {
			t.Errorf("refused: %v", refused)
		}
	}
	want := []string{"demo EtcdVolume1 Delete", "demo EtcdVolume1Generation1 Create", "demo-control-plane-1 AutoScalingGroup Update"}
	if !slices.Equal(changes, want) {
		t.Errorf("the changes are %v, want %v:\n%s", changes, want, text(t, made))
	}
	goldenText(t, "moves.txt", text(t, made))
	if etcd := in.Cluster.Status.Etcd; etcd != nil && len(etcd.Volumes) > 0 {
		t.Errorf("the plan changed the status: %+v", etcd.Volumes)
	}

	_, err = plan.Of(t.Context(), in, w.options(plan.Options{NoOperator: true}))
	if want := "requires an operator that manages the cluster"; !strings.Contains(message(err), want) {
		t.Errorf("without an operator, the plan says %v", err)
	}
}
