package drain

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// Reason is why an instance is terminated.
type Reason string

// Reasons.
const (
	// Rolling replaces an instance with one of another configuration.
	Rolling Reason = "Rolling"
	// ScaleIn reduces a group, or rebalances its zones.
	ScaleIn Reason = "ScaleIn"
	// SpotInterruption reclaims a spot instance within two minutes.
	SpotInterruption Reason = "SpotInterruption"
	// Rebalance replaces a spot instance that is likely to be interrupted.
	Rebalance Reason = "Rebalance"
	// Repair replaces an unhealthy instance.
	Repair Reason = "Repair"
	// Deletion deletes a whole group.
	Deletion Reason = "Deletion"
	// Person is a manual termination.
	Person Reason = "Person"
)

// Policy is what happens to an instance whose node could not be drained in time.
type Policy string

// Policies.
const (
	// Continue terminates the instance and the remaining pods.
	Continue Policy = "Continue"
	// Abandon keeps the instance, outside its group, until its pods can be evicted. The Auto
	// Scaling group must have the instance lifecycle policy that retains instances whose lifecycle
	// action was abandoned; otherwise they are terminated:
	// https://docs.aws.amazon.com/autoscaling/ec2/userguide/instance-lifecycle-policy.html
	Abandon Policy = "Abandon"
)

// NoSlot is the slot of a node outside the control plane.
const NoSlot = -1

// Order requests the drain of a node.
type Order struct {
	// Cluster is the key of the Cluster in the management cluster.
	Cluster types.NamespacedName
	// Group is the instance group; empty for a slot. Slot is NoSlot for a group's node.
	Group string
	Slot  int
	// Instance is the EC2 instance, which identifies an order.
	Instance string
	// AutoScalingGroup, Hook and Token identify the waiting lifecycle action, if any, which
	// completes when the node is empty. Without a Hook, the instance is not touched, and the caller
	// follows the [Progress].
	AutoScalingGroup, Hook, Token string
	// Since is the start of the lifecycle action, zero if unknown.
	Since time.Time
	// HookTimeout is the hook's heartbeat timeout, 5 minutes if zero. Heartbeats are sent at a
	// third of it.
	HookTimeout time.Duration
	// Target is the instance's account and region.
	Target awsapi.Target
	// Reason is why the instance is terminated.
	Reason Reason
	// Timeout is how long the drain may take from its start. Deadline, if not zero, ends it in any
	// case.
	Timeout  time.Duration
	Deadline time.Time
	// Policy is what happens after the timeout, Continue if empty.
	Policy Policy
	// AtOnce terminates the instance without a drain: nothing is left to protect, for example when
	// the whole cluster is deleted.
	AtOnce bool
	// Retained reports that Auto Scaling already keeps the instance because an earlier operator
	// abandoned its lifecycle action (see [Abandon]).
	Retained bool
	// CordonOnly keeps new pods off the node and leaves existing ones, for an instance that will be
	// replaced but still serves.
	CordonOnly bool
}

// State is the state of a drain.
type State string

// States.
const (
	// Draining drains evict pods.
	Draining State = "Draining"
	// Empty drains have evicted all pods and completed the lifecycle action, if any.
	Empty State = "Empty"
	// TimedOut drains did not finish in time and released the instance.
	TimedOut State = "TimedOut"
	// Kept drains did not finish in time and keep the instance (see [Abandon]). Evictions continue,
	// and the instance is terminated when its node is empty.
	Kept State = "Kept"
	// Cordoned nodes accept no new pods; see [Order.CordonOnly].
	Cordoned State = "Cordoned"
	// Gone drains have lost their instance with its remaining pods.
	Gone State = "Gone"
)

// Progress is the progress of a drain.
type Progress struct {
	Order
	// Node is the node's name, empty if the instance has none.
	Node  string
	State State
	// Began is the start, Deadline the end of the time allowed.
	Began, Deadline time.Time
	// Pods is the number of pods left to evict.
	Pods int
	// BlockedBy lists the PodDisruptionBudgets that block evictions, as namespace/name, sorted.
	BlockedBy []string
	// Message describes the progress.
	Message string
}

// Ended reports whether the drain has ended.
func (p *Progress) Ended() bool { return p.State.ended() }

func (s State) ended() bool { return s != Draining && s != Kept }

// Notice is a notice about a drain for users.
type Notice struct {
	Progress
	// Warning is true if it may need a user's action.
	Warning bool
	// The event: Draining, DrainBlocked, Drained, DrainTimedOut or MachineKept.
	What string
}
