package workload

import (
	"maps"
	"strconv"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// Labels with a node's group and slot. Kubelets set them on their own Node, so they decide nothing:
// see [Identify].
const (
	groupLabel = "cluster-operator.aws/instance-group"
	slotLabel  = "cluster-operator.aws/slot"
)

// maxProviderID is the maximum length of a provider ID that is kept. Those of AWS have the form
// aws:///eu-central-1a/i-0123456789abcdef0.
const maxProviderID = 128

// NoSlot is the slot of a node outside the control plane.
const NoSlot = -1

// Node is the kept state of a node.
type Node struct {
	// Name is the node's name; UID distinguishes it from an earlier node with that name.
	Name, UID string
	// InstanceID is its EC2 instance, empty until the node has a provider ID and EC2 has confirmed
	// it.
	InstanceID string
	// Claimed is the instance in its provider ID, which is unverified.
	Claimed string
	// ProviderID is its provider ID, empty if that names no instance or is longer than those of AWS.
	ProviderID string
	// Group is its instance group, empty for control-plane nodes; Slot is NoSlot for the others.
	// They are those of its instance.
	Group string
	Slot  int
	// Problem is the claim that EC2 does not confirm, empty if there is none.
	Problem string
	// Bundle is the beginning of the hash of the bundle that it booted with.
	Bundle string
	// Version is its kubelet's version.
	Version string
	// Ready reports whether the node is Ready; ReadyChanged is when that last changed.
	Ready        bool
	ReadyChanged time.Time
	// Created is the Node's creation time, in seconds, by the workload cluster's clock.
	Created time.Time
	// Unschedulable reports whether it is cordoned.
	Unschedulable bool
	// Labels are its labels.
	Labels map[string]string
	// AuditLog is what a slot reports about its audit log, nil if nothing.
	AuditLog *NodeReport
	// addresses are the internal addresses that it reports.
	addresses []string
}

// NodeReport is a condition that nodeup sets on the Node of its instance.
type NodeReport struct {
	Status          corev1.ConditionStatus
	Reason, Message string
	// At is when it was set last.
	At time.Time
}

// nodeFrom extracts the kept state from a Node of the cluster.
func (c *Cluster) nodeFrom(from *corev1.Node) Node {
	n := nodeFrom(from)
	if c.eks {
		n.Slot = NoSlot // EKS has no nodes for its control planes
	}
	return n
}

// nodeFrom extracts the kept state from a Node.
func nodeFrom(from *corev1.Node) Node {
	n := Node{
		Name: from.Name, UID: string(from.UID), InstanceID: instanceID(from.Spec.ProviderID), Bundle: from.Labels[bundle.Label],
		Version: from.Status.NodeInfo.KubeletVersion, Created: from.CreationTimestamp.Time, Unschedulable: from.Spec.Unschedulable,
		Labels: from.Labels,
	}
	n.Claimed, n.Slot = n.InstanceID, NoSlot
	if n.Claimed != "" { // otherwise, there is nothing that EC2 could confirm
		if len(from.Spec.ProviderID) <= maxProviderID {
			n.ProviderID = from.Spec.ProviderID
		}
		n.Group, n.Slot = n.labels().group, n.labels().slot
	}
	for i := range from.Status.Addresses {
		if a := &from.Status.Addresses[i]; a.Type == corev1.NodeInternalIP {
			n.addresses = append(n.addresses, a.Address)
		}
	}
	for i := range from.Status.Conditions {
		c := &from.Status.Conditions[i]
		if c.Type == corev1.NodeReady {
			n.Ready, n.ReadyChanged = c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
		}
		if c.Type == bundle.AuditCondition && n.Slot != NoSlot {
			n.AuditLog = &NodeReport{
				Status: corev1.ConditionStatus(start(string(c.Status))), Reason: start(c.Reason), Message: start(c.Message),
				At: c.LastHeartbeatTime.Time,
			}
		}
	}
	return n
}

// labelled is the group and slot in a Node's labels.
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
	return strings.Clone(rest[strings.LastIndexByte(rest, '/')+1:]) // it must not keep the rest in memory
}

// same reports whether no relevant field differs.
func (n *Node) same(other *Node) bool {
	return n.UID == other.UID && n.InstanceID == other.InstanceID && n.Claimed == other.Claimed && n.Problem == other.Problem &&
		n.Version == other.Version &&
		n.Ready == other.Ready && n.AuditLog.same(other.AuditLog) && n.Unschedulable == other.Unschedulable &&
		maps.Equal(n.Labels, other.Labels)
}

// start returns the beginning of a text of a Node in one line, in memory of its own. It may be
// anything, and is shown to people.
func start(text string) string {
	const most = 512
	return strings.Clone(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text[:min(len(text), most)]))
}

// same reports whether two reports say the same. Messages have IDs of requests.
func (r *NodeReport) same(other *NodeReport) bool {
	if r == nil || other == nil {
		return r == other
	}
	return r.Status == other.Status && r.Reason == other.Reason
}

// InGroup returns the nodes of an instance group.
func InGroup(nodes []Node, group string) []Node {
	var of []Node
	for i := range nodes {
		if nodes[i].Group == group {
			of = append(of, nodes[i])
		}
	}
	return of
}
