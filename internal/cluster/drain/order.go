package drain

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// Reason says why a machine goes.
type Reason string

// Reasons.
const (
	// Rolling replaces a machine by one of another shape.
	Rolling Reason = "Rolling"
	// ScaleIn makes a group smaller, or spreads it over its zones anew.
	ScaleIn Reason = "ScaleIn"
	// SpotInterruption takes a spot instance back within two minutes.
	SpotInterruption Reason = "SpotInterruption"
	// Rebalance replaces a spot instance that is likely to be taken back.
	Rebalance Reason = "Rebalance"
	// Repair replaces a machine that is not well.
	Repair Reason = "Repair"
	// Deletion ends a whole group.
	Deletion Reason = "Deletion"
	// Person ends a machine by hand.
	Person Reason = "Person"
)

// Policy says what becomes of a machine whose node could not be emptied in time.
type Policy string

// Policies.
const (
	// Continue lets the machine go, and what is left on it.
	Continue Policy = "Continue"
	// Abandon keeps the machine, out of its group, until its pods could go after all. The Auto Scaling group must have the instance
	// lifecycle policy that retains machines whose lifecycle action was abandoned; without it they go:
	// https://docs.aws.amazon.com/autoscaling/ec2/userguide/instance-lifecycle-policy.html
	Abandon Policy = "Abandon"
)

// NoSlot is the slot of a node that is no control-plane node.
const NoSlot = -1

// Order asks for a node to be emptied.
type Order struct {
	// Cluster is the cluster's object in the management cluster.
	Cluster types.NamespacedName
	// Group is the instance group; empty for a slot. Slot is NoSlot for a group's node.
	Group string
	Slot  int
	// Instance is the EC2 instance, by which an order is known.
	Instance string
	// AutoScalingGroup, Hook and Token name the lifecycle action that waits, if one does: it is completed when the node is empty.
	// Without a Hook nothing is done to the machine, and who gave the order looks at the [Progress].
	AutoScalingGroup, Hook, Token string
	// Since is when the lifecycle action began; zero when that is not known.
	Since time.Time
	// HookTimeout is the hook's heartbeat timeout; 5 minutes when zero. A third of it passes between heartbeats.
	HookTimeout time.Duration
	// Target is where the machine is.
	Target awsapi.Target
	// Reason says why it goes.
	Reason Reason
	// Timeout is how long emptying may take from when it began; Deadline, if not zero, is when it must have ended however it fares.
	Timeout  time.Duration
	Deadline time.Time
	// Policy is what happens then; Continue when empty.
	Policy Policy
	// AtOnce lets the machine go without emptying it: there is nothing left to protect, as when the whole cluster is deleted.
	AtOnce bool
	// Retained says that Auto Scaling keeps the machine already: an earlier operator abandoned its lifecycle action (see [Abandon]).
	Retained bool
	// CordonOnly keeps new pods off the node and leaves those that are there, for a machine that will be replaced but still serves.
	CordonOnly bool
}

// State says how far a drain is.
type State string

// States.
const (
	// Draining moves pods.
	Draining State = "Draining"
	// Empty has moved all pods; the lifecycle action, if there is one, is completed.
	Empty State = "Empty"
	// TimedOut did not in time, and let the machine go.
	TimedOut State = "TimedOut"
	// Kept did not in time, and keeps the machine (see [Abandon]). Eviction is tried on, and the machine ended when it is empty.
	Kept State = "Kept"
	// Cordoned takes no new pods; see [Order.CordonOnly].
	Cordoned State = "Cordoned"
	// Gone has lost its machine, and what was left on it.
	Gone State = "Gone"
)

// Progress says how far a drain is.
type Progress struct {
	Order
	// Node is the node's name, empty if the machine has none.
	Node  string
	State State
	// Began is when it began, Deadline until when it may take.
	Began, Deadline time.Time
	// Pods is how many pods are still to go.
	Pods int
	// BlockedBy are the PodDisruptionBudgets that keep pods, as namespace/name, sorted.
	BlockedBy []string
	// Message says in a sentence what goes on.
	Message string
}

// Ended reports whether nothing more is done to the node.
func (p *Progress) Ended() bool { return p.State.ended() }

func (s State) ended() bool { return s != Draining && s != Kept }

// Notice is something that a person should hear of a drain.
type Notice struct {
	Progress
	// Warning is true for what may need a person.
	Warning bool
	// What is in a word what happened: Draining, DrainBlocked, Drained, DrainTimedOut or MachineKept.
	What string
}
