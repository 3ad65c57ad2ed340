package workload

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// ec2Says is what EC2 says in these tests: one instance of a group, and one slot's.
var ec2Says = map[string]Identity{
	"i-1":    {PrivateDNSName: "ip-10-0-0-1.eu-central-1.compute.internal", Address: "10.0.0.1", Group: "g", Slot: NoSlot},
	"i-slot": {PrivateDNSName: "ip-10-0-0-9.eu-central-1.compute.internal", Address: "10.0.0.9", Slot: 0},
	"i-else": {Slot: NoSlot, Problem: "is in no Auto Scaling group of the cluster"},
}

func claiming(name, instance, address string, labels map[string]string, age time.Duration) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0).Add(-age))},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-central-1a/" + instance},
	}
	if address != "" {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
	}
	return node
}

func TestEC2DecidesWhichInstanceGroupAndSlotANodeIsOf(t *testing.T) {
	const worker = "ip-10-0-0-1.eu-central-1.compute.internal"
	group, slot := map[string]string{groupLabel: "g"}, map[string]string{slotLabel: "0"}
	cases := map[string]struct {
		nodes   []*corev1.Node
		holder  string // of i-1
		group   string
		problem string // of the last node
	}{
		"a worker that says what EC2 says": {
			nodes:  []*corev1.Node{claiming(worker, "i-1", "10.0.0.1", group, 0)},
			holder: worker,
			group:  "g",
		},
		"a worker that says nothing": {nodes: []*corev1.Node{claiming(worker, "i-1", "", nil, 0)}, holder: worker, group: "g"},
		"a name in the domain of DHCP options": {
			nodes:  []*corev1.Node{claiming("ip-10-0-0-1.example.com", "i-1", "", group, 0)},
			holder: "ip-10-0-0-1.example.com",
			group:  "g",
		},
		"a worker that calls itself a slot": {
			nodes:   []*corev1.Node{claiming(worker, "i-1", "", slot, 0)},
			holder:  worker,
			group:   "g",
			problem: "labelled as of control-plane slot 0",
		},
		"a worker that names another group": {
			nodes:   []*corev1.Node{claiming(worker, "i-1", "", map[string]string{groupLabel: "x"}, 0)},
			holder:  worker,
			group:   "g",
			problem: "labelled as of instance group x",
		},
		"another name than the instance's": {
			nodes:   []*corev1.Node{claiming("made-up", "i-1", "", group, 0)},
			problem: "claims instance i-1, whose name is " + worker,
		},
		"an address that is not the instance's": {
			nodes:   []*corev1.Node{claiming(worker, "i-1", "10.0.0.7", group, 0)},
			problem: "whose address is 10.0.0.1",
		},
		"an instance of another owner": {
			nodes:   []*corev1.Node{claiming(worker, "i-else", "", group, 0)},
			problem: "in no Auto Scaling group",
		},
		"an instance that does not exist in EC2": {
			nodes:   []*corev1.Node{claiming(worker, "i-none", "", slot, 0)},
			problem: "claims instance i-none, which EC2 does not know",
		},
		"two that claim one, of which one has the name": {
			nodes:  []*corev1.Node{claiming(worker, "i-1", "", group, 0), claiming("ip-10-0-0-1.evil", "i-1", "", group, time.Hour)},
			holder: worker, group: "g", problem: "which is that of Node " + worker,
		},
		"a claimant before the instance's own Node": {
			nodes:  []*corev1.Node{claiming("ip-10-0-0-1.evil", "i-1", "", group, time.Hour), claiming(worker, "i-1", "", group, 0)},
			holder: worker, group: "g",
		},
		"two with names of the instance, of which the older has it": {
			nodes:  []*corev1.Node{claiming("ip-10-0-0-1.a", "i-1", "", group, time.Hour), claiming("ip-10-0-0-1.b", "i-1", "", group, 0)},
			holder: "ip-10-0-0-1.a", group: "g", problem: "which is that of Node ip-10-0-0-1.a",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			asked := 0
			clusters := New(Options{})
			clusters.IdentifyWith(func(_ context.Context, _ types.NamespacedName, ids []string) (map[string]Identity, error) {
				asked++
				return ec2Says, nil
			})
			cluster, err := connect(types.NamespacedName{Name: "c"}, &rest.Config{Host: "https://127.0.0.1:1"}, clusters)
			if err != nil {
				t.Fatal(err)
			}
			for _, node := range c.nodes {
				one := nodeFrom(node)
				cluster.put(&one)
				if err := cluster.identifyOnce(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			held, ok := cluster.NodeOf("i-1")
			if ok != (c.holder != "") || held.Name != c.holder || held.Group != c.group || held.Slot != NoSlot && ok {
				t.Errorf("the Node of i-1 is %+v, want %s of group %q", held, c.holder, c.group)
			}
			last := c.nodes[len(c.nodes)-1].Name
			all := cluster.Nodes()
			i := slices.IndexFunc(all, func(n Node) bool { return n.Name == last })
			if problem := all[i].Problem; (problem == "") != (c.problem == "") || !strings.Contains(problem, c.problem) {
				t.Errorf("the problem of %s is %q, want %q", last, problem, c.problem)
			}
			for _, node := range all {
				if node.Slot != NoSlot || node.Name != c.holder && (node.InstanceID != "" || node.Group != "") {
					t.Errorf("a Node that EC2 does not confirm is taken at its word: %+v", node)
				}
			}
			heartbeat := nodeFrom(c.nodes[0])
			cluster.put(&heartbeat)
			if before := asked; cluster.identifyOnce(t.Context()) != nil || asked != before {
				t.Error("EC2 is called again for a known instance")
			}
		})
	}
}
