package rollout

import (
	"time"

	"github.com/aws-operator/aws-operator/internal/cluster/drain"
)

// Settings configure how a group's instances are replaced.
type Settings struct {
	// Attempt identifies the desired state, for example by the object's generation. Another attempt
	// retries a stopped rollout.
	Attempt string
	// BatchSize is how many instances are replaced at once, at least 1.
	BatchSize int
	// MinInService is how many Ready nodes stay in service, limited by the group's size and so that
	// it can have one more.
	MinInService int
	// Surge is how many instances there may be above the group's capacity, up to its maximum size.
	Surge int
	// Canary is how many instances are replaced first, alone.
	Canary int
	// Pause is how long a new node must have been Ready before it counts.
	Pause time.Duration
	// ReadyTimeout is how long an instance may take to be launched, and then again to become Ready.
	ReadyTimeout time.Duration
	// DrainTimeout is how long a drain may take, OnDrainTimeout what happens then: Continue
	// terminates the instance, Abandon stops the rollout and keeps it in service.
	DrainTimeout   time.Duration
	OnDrainTimeout drain.Policy
	// HookDrains reports that a lifecycle hook holds terminating instances while another party
	// drains them. They are then terminated at once, so that their replacements boot during the
	// drain; unless OnDrainTimeout is Abandon, since a terminating instance cannot be kept in
	// service.
	HookDrains bool
	// AnswerHooks makes the rollout release drained instances from the group's lifecycle hook,
	// where no operator does.
	AnswerHooks bool
	// CloudOnly uses only Auto Scaling's state and does not drain nodes. It is for instances
	// without nodes, and for clusters whose API does not respond.
	CloudOnly bool
	// Before, if not zero, also replaces up-to-date instances that were launched before it: see
	// [Roller.Forced].
	Before time.Time
	// ValidateCount is how many consecutive checks of the cluster's health must succeed before more
	// instances are replaced; one if zero.
	ValidateCount int
}

// drainsFirst reports whether nodes are drained before their instances are terminated.
func (s *Settings) drainsFirst() bool {
	return !s.CloudOnly && (!s.HookDrains || s.OnDrainTimeout == drain.Abandon)
}

// Lifecycle is the state of an instance in its Auto Scaling group.
type Lifecycle int

// Lifecycles, each for several of Auto Scaling's states:
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-lifecycle.html
const (
	// Starting instances are pending.
	Starting Lifecycle = iota
	// InService instances count, and may serve.
	InService
	// Leaving instances are terminating, detaching, or entering standby.
	Leaving
	// Aside instances are on standby, which a user set. The rollout ignores them.
	Aside
)

// Instance is an instance of a group.
type Instance struct {
	ID        string
	Lifecycle Lifecycle
	// Held instances are leaving and wait in a lifecycle hook that only the rollout completes.
	Held bool
	// Outdated instances were not launched from the group's current configuration.
	Outdated bool
	// Launched is the launch time in EC2, Zone the availability zone.
	Launched time.Time
	Zone     string
	// Node is the node's name, empty if the instance has none.
	Node string
	// Ready reports whether the node is Ready with the expected bundle, false without a node; Since
	// is since when.
	Ready bool
	Since time.Time
	// Cordoned nodes accept no pods.
	Cordoned bool
	// Drain is the state of its drain, empty if there is none; Ours reports that a rollout
	// requested it. Blocked names what blocks its evictions.
	Drain   drain.State
	Ours    bool
	Blocked string
}

// name returns the instance's name in messages.
func (i *Instance) name() string {
	if i.Node == "" {
		return "instance " + i.ID
	}
	return "node " + i.Node + " (" + i.ID + ")"
}

// active instances count toward the group's capacity.
func (i *Instance) active() bool { return i.Lifecycle == Starting || i.Lifecycle == InService }

// Validation is the health of the cluster since the last instance was replaced.
type Validation struct {
	// Passed is the number of consecutive successful checks.
	Passed int
	// Problem describes a failed check; empty if it succeeded or there was none yet.
	Problem string
	// At is the time of the last check.
	At time.Time
}

// Observation is the observed state of a group and its cluster.
type Observation struct {
	// Min, Max and Desired are the group's sizes.
	Min, Max, Desired int
	// Steady is since how long the desired capacity is unchanged.
	Steady    time.Duration
	Instances []Instance
	// Memory is the state recorded on the group; nil if no rollout is in progress.
	Memory *Memory
	// Autoscaled reports that the cluster autoscaler discovers the group, Held that it is suspended
	// for it. Suspended are the group's suspended processes.
	Autoscaled, Held bool
	Suspended        []string
	// Unreachable describes why the nodes are unknown; empty if they are known.
	Unreachable string
	Validation  Validation
}
