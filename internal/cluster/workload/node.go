package workload

import (
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Labels by which a node says where it belongs; kubelets put them on their own Node, so that they decide nothing: see [Identify].
const (
	groupLabel  = "cluster-operator.aws/instance-group"
	slotLabel   = "cluster-operator.aws/slot"
	bundleLabel = "cluster-operator.aws/bundle"
)

// NoSlot is the slot of a node that is no control-plane node.
const NoSlot = -1

// Node is what is kept of a cluster's node.
type Node struct {
	// Name is the node's name, UID tells it from an earlier one of that name.
	Name, UID string
	// InstanceID is the EC2 instance that it runs on, empty while the node has no provider ID, and while EC2 has not confirmed that it
	// is the instance's Node.
	InstanceID string
	// Claimed is the instance that its provider ID names. It is the Node's word.
	Claimed string
	// Group is its instance group, empty for control-plane nodes; Slot is NoSlot for the others. They are those of its instance.
	Group string
	Slot  int
	// Problem is what it says of itself that EC2 does not confirm, after its name and a colon; empty if there is nothing.
	Problem string
	// Bundle is the beginning of the hash of the bundle that it booted from.
	Bundle string
	// Version is its kubelet's.
	Version string
	// Ready says whether its kubelet reports it ready; ReadyChanged when that changed last.
	Ready        bool
	ReadyChanged time.Time
	// Created is when the Node was made, to the second, by the workload cluster's clock.
	Created time.Time
	// Unschedulable says whether it is cordoned.
	Unschedulable bool
	// Labels are its labels.
	Labels map[string]string
	// addresses are the internal addresses that it reports.
	addresses []string
}

// nodeFrom keeps what is wanted of a Node.
func nodeFrom(from *corev1.Node) Node {
	n := Node{
		Name: from.Name, UID: string(from.UID), InstanceID: instanceID(from.Spec.ProviderID), Bundle: from.Labels[bundleLabel],
		Version: from.Status.NodeInfo.KubeletVersion, Created: from.CreationTimestamp.Time, Unschedulable: from.Spec.Unschedulable, Labels: from.Labels,
	}
	n.Claimed, n.Group, n.Slot = n.InstanceID, n.labels().group, n.labels().slot
	for i := range from.Status.Addresses {
		if a := &from.Status.Addresses[i]; a.Type == corev1.NodeInternalIP {
			n.addresses = append(n.addresses, a.Address)
		}
	}
	for i := range from.Status.Conditions {
		if c := &from.Status.Conditions[i]; c.Type == corev1.NodeReady {
			n.Ready, n.ReadyChanged = c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
		}
	}
	return n
}

// labelled is where a Node's labels say that it belongs.
type labelled struct {
	group string
	slot  int
}

func (n *Node) labels() labelled {
	l := labelled{group: n.Labels[groupLabel], slot: NoSlot}
	if slot, err := strconv.Atoi(n.Labels[slotLabel]); err == nil {
		l.slot = slot
	}
	return l
}

// instanceID returns the instance of a provider ID, aws:///ZONE/INSTANCE.
func instanceID(providerID string) string {
	rest, ok := strings.CutPrefix(providerID, "aws://")
	if !ok {
		return ""
	}
	return rest[strings.LastIndexByte(rest, '/')+1:]
}

// same reports whether nothing that anybody looks at differs.
func (n *Node) same(other *Node) bool {
	return n.UID == other.UID && n.InstanceID == other.InstanceID && n.Claimed == other.Claimed && n.Problem == other.Problem && n.Version == other.Version &&
		n.Ready == other.Ready && n.Unschedulable == other.Unschedulable && maps.Equal(n.Labels, other.Labels)
}
