package workload

import (
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Labels by which a node says where it belongs; kubelets put them on their own Node.
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
	// InstanceID is the EC2 instance that it runs on, empty while the node has no provider ID.
	InstanceID string
	// Group is its instance group, empty for control-plane nodes; Slot is NoSlot for the others.
	Group string
	Slot  int
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
}

// nodeFrom keeps what is wanted of a Node.
func nodeFrom(from *corev1.Node) Node {
	n := Node{
		Name: from.Name, UID: string(from.UID), InstanceID: instanceID(from.Spec.ProviderID),
		Group: from.Labels[groupLabel], Slot: NoSlot, Bundle: from.Labels[bundleLabel],
		Version: from.Status.NodeInfo.KubeletVersion, Created: from.CreationTimestamp.Time, Unschedulable: from.Spec.Unschedulable, Labels: from.Labels,
	}
	if slot, err := strconv.Atoi(from.Labels[slotLabel]); err == nil {
		n.Slot = slot
	}
	for i := range from.Status.Conditions {
		if c := &from.Status.Conditions[i]; c.Type == corev1.NodeReady {
			n.Ready, n.ReadyChanged = c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
		}
	}
	return n
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
	return n.UID == other.UID && n.InstanceID == other.InstanceID && n.Version == other.Version &&
		n.Ready == other.Ready && n.Unschedulable == other.Unschedulable && maps.Equal(n.Labels, other.Labels)
}
