package workload

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/patience"
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
		"a group without an instance": {
			nodes: []*corev1.Node{claiming(worker, "", "10.0.0.1", group, 0)},
		},
		"a slot without an instance": {
			nodes: []*corev1.Node{claiming(worker, "", "10.0.0.9", slot, 0)},
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
				if err := cluster.put(&one); err != nil {
					t.Fatal(err)
				}
				if settled, err := cluster.identifyOnce(t.Context()); err != nil || !settled {
					t.Fatalf("settled: %t, %v", settled, err)
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
			if err := cluster.put(&heartbeat); err != nil {
				t.Fatal(err)
			}
			before := asked
			if _, err := cluster.identifyOnce(t.Context()); err != nil || asked != before {
				t.Errorf("EC2 is called again for a known instance: %v", err)
			}
		})
	}
}

func TestAnInstanceMayHaveANodeUntilEC2Answers(t *testing.T) {
	clusters := New(Options{})
	clusters.IdentifyWith(func(context.Context, types.NamespacedName, []string) (map[string]Identity, error) {
		return ec2Says, nil
	})
	cluster, err := connect(types.NamespacedName{Name: "c"}, &rest.Config{Host: "https://127.0.0.1:1"}, clusters)
	if err != nil {
		t.Fatal(err)
	}
	is := func(when string, want map[string]bool) {
		t.Helper()
		for instance, want := range want {
			if got := cluster.MayHaveNode(instance); got != want {
				t.Errorf("%s, instance %s may have a node: %t, want %t", when, instance, got, want)
			}
		}
	}
	is("without Nodes", map[string]bool{"i-1": false})
	for _, node := range []*corev1.Node{
		claiming("ip-10-0-0-1.eu-central-1.compute.internal", "i-1", "", nil, 0), claiming("thief", "i-slot", "", nil, 0),
	} {
		one := nodeFrom(node)
		if err := cluster.put(&one); err != nil {
			t.Fatal(err)
		}
	}
	is("before EC2 answers", map[string]bool{"i-1": true, "i-slot": true, "i-else": false})
	if _, err := cluster.identifyOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	is("after EC2 has answered", map[string]bool{"i-1": true, "i-slot": false, "i-else": false})
}

// An instance is new when its Node is created: EC2 may find it, or its tags, only later. The Node
// need not change for that.
func TestEC2IsAskedAgainAboutNewNodes(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	clusters := New(Options{Clock: clock})
	var asked atomic.Int32
	var answers atomic.Pointer[map[string]Identity]
	answers.Store(&map[string]Identity{})
	clusters.IdentifyWith(func(context.Context, types.NamespacedName, []string) (map[string]Identity, error) {
		asked.Add(1)
		return *answers.Load(), nil
	})
	cluster, err := connect(types.NamespacedName{Name: "c"}, &rest.Config{Host: "https://127.0.0.1:1"}, clusters)
	if err != nil {
		t.Fatal(err)
	}
	cluster.running = t.Context()
	for _, node := range []*corev1.Node{
		claiming("ip-10-0-0-1.eu-central-1.compute.internal", "i-1", "", nil, 0), claiming("thief", "i-none", "", nil, 0),
	} {
		one := nodeFrom(node)
		if err := cluster.put(&one); err != nil {
			t.Fatal(err)
		}
	}
	patience.UntilTrue(t, "EC2 is asked twice and does not know the instances", func() bool {
		clock.Step(time.Second)
		return asked.Load() >= 2
	})
	if _, known := cluster.NodeOf("i-1"); known || !cluster.MayHaveNode("i-1") || !cluster.MayHaveNode("i-none") {
		t.Error("the instances are unknown, and EC2 may still find them")
	}
	answers.Store(&map[string]Identity{"i-1": {PrivateDNSName: "ip-10-0-0-1.eu-central-1.compute.internal", Group: "g", Slot: NoSlot}})
	patience.UntilTrue(t, "EC2 knows the instance", func() bool {
		clock.Step(time.Second)
		_, known := cluster.NodeOf("i-1")
		return known
	})
	patience.UntilTrue(t, "the other one is a stranger's", func() bool {
		clock.Step(10 * time.Second)
		return !cluster.MayHaveNode("i-none")
	})
}

// A node of Karpenter has the labels of the group whose bundle it boots, and is in no group. It cannot be a
// slot.
func TestNodesOfKarpenterAreInNoGroup(t *testing.T) {
	identity := &Identity{Slot: NoSlot, NodePool: "default"}
	for name, test := range map[string]struct {
		labels map[string]string
		want   string
	}{
		"the labels of a group": {map[string]string{groupLabel: "g"}, ""},
		"no labels":             {nil, ""},
		"the label of a slot":   {map[string]string{slotLabel: "0"}, "is of Karpenter's NodePool default"},
	} {
		node := Node{Claimed: "i-1", Labels: test.labels}
		if got := node.unconfirmed(identity); test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
