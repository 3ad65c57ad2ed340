package rollout

import (
	"time"

	"github.com/aws-operator/aws-operator/internal/cluster/drain"
)

// Settings say how a group's machines are replaced.
type Settings struct {
	// Attempt names what was asked for, for example the object's generation. A roll that stopped is tried again by another attempt.
	Attempt string
	// BatchSize is how many machines are replaced at once, at least 1.
	BatchSize int
	// MinInService is how many Ready nodes stay in service, as far as the group has so many and can have one more.
	MinInService int
	// Surge is how many machines there may be above the group's capacity, within its greatest size.
	Surge int
	// Canary is how many machines are replaced first, alone.
	Canary int
	// Pause is how long a new node must have been Ready before it counts.
	Pause time.Duration
	// ReadyTimeout is how long a new machine may take to be launched, and then again to become Ready.
	ReadyTimeout time.Duration
	// DrainTimeout is how long draining a node may take, OnDrainTimeout what happens then: Continue ends the machine, Abandon stops the
	// roll and leaves it in service.
	DrainTimeout   time.Duration
	OnDrainTimeout drain.Policy
	// HookDrains says that a lifecycle hook of the group holds machines that end and that somebody drains them meanwhile. They are
	// ended at once then, so that their replacements boot while they are drained; unless OnDrainTimeout is Abandon, since what ends
	// cannot be kept in service.
	HookDrains bool
	// AnswerHooks has the roll let machines go that the group's lifecycle hook holds, once they are drained: nobody else does, as where no
	// operator listens to Auto Scaling.
	AnswerHooks bool
	// CloudOnly goes by Auto Scaling alone: no node is looked at or drained. For machines that are no nodes, and for clusters that do
	// not answer.
	CloudOnly bool
	// Before, if not zero, has machines replaced that were launched before it, also those that need it not: see [Engine.Forced].
	Before time.Time
	// ValidateCount is how many times in a row the cluster must be found well before more is taken; once when zero.
	ValidateCount int
}

// drainsFirst reports whether nodes are drained before their machines are ended.
func (s *Settings) drainsFirst() bool {
	return !s.CloudOnly && (!s.HookDrains || s.OnDrainTimeout == drain.Abandon)
}

// Lifecycle is what a machine is to its Auto Scaling group.
type Lifecycle int

// Lifecycles, each several of Auto Scaling's states:
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-lifecycle.html
const (
	// Starting machines are pending.
	Starting Lifecycle = iota
	// InService machines count, and may serve.
	InService
	// Leaving machines end, are detached, or go to standby.
	Leaving
	// Aside machines are on standby: somebody keeps them out of it. They are not touched.
	Aside
)

// Instance is one machine of a group.
type Instance struct {
	ID        string
	Lifecycle Lifecycle
	// Held machines are leaving, wait in a lifecycle hook, and nobody but the roll lets them go.
	Held bool
	// Outdated machines were not launched from what the group launches from now.
	Outdated bool
	// Launched is when EC2 launched it, Zone where it runs.
	Launched time.Time
	Zone     string
	// Node is its node's name, empty if it has none.
	Node string
	// Ready says whether its node is, with the bundle that its shape is to have; Since is since when it is, or is not. Without a node
	// it is not.
	Ready bool
	Since time.Time
	// Cordoned nodes take no pods.
	Cordoned bool
	// Drain is how far its drain is, empty if there is none; Ours says that a roll wanted it. Blocked names what keeps its pods.
	Drain   drain.State
	Ours    bool
	Blocked string
}

// name is how people know it.
func (i *Instance) name() string {
	if i.Node == "" {
		return "machine " + i.ID
	}
	return "node " + i.Node + " (" + i.ID + ")"
}

// active machines count towards the group's capacity.
func (i *Instance) active() bool { return i.Lifecycle == Starting || i.Lifecycle == InService }

// Validation is what is known of the cluster as a whole since the last machine was taken.
type Validation struct {
	// Passed is how many times in a row all was well.
	Passed int
	// Problem says in a sentence what was not; empty if all was, or nobody looked yet.
	Problem string
	// At is when somebody looked last.
	At time.Time
}

// Suite is what was observed of a group and its cluster.
type Suite struct {
	// Min, Max and Desired are the group's sizes.
	Min, Max, Desired int
	// Steady is how long the desired capacity has been seen as it is.
	Steady    time.Duration
	Instances []Instance
	// Memory is what was noted on the group; nil if no roll is under way.
	Memory *Memory
	// Autoscaled says that the cluster autoscaler finds the group, Held that it was kept off it. Suspended are its suspended processes.
	Autoscaled, Held bool
	Suspended        []string
	// Unreachable says in a sentence why the nodes cannot be known; empty if they are.
	Unreachable string
	Validation  Validation
}
