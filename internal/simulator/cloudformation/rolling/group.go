package rolling

import (
	"context"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// Phase is how far an instance of a group is.
type Phase int

// The phases of an instance. What Auto Scaling calls Terminating is Leaving;
// whatever is not part of the group any more, or held by a terminating hook, is
// Left.
const (
	Launching Phase = iota
	InService
	Leaving
	Left
)

// Instance is one instance of a group.
type Instance struct {
	ID string
	// Obsolete says that the group would not launch it so any more.
	Obsolete bool
	Phase    Phase
}

// Group is what an Auto Scaling group looks like at one moment.
type Group struct {
	Min, Max, Desired int
	// Instances come in the order in which they are to be replaced.
	Instances []Instance
	// Failure is why the group gets no further, empty while it may.
	Failure string
}

// Observation is all that a roll depends on.
type Observation struct {
	Now   time.Time
	Group Group
	// Signals are those received for the group, by unique ID: whether it was
	// SUCCESS. The first one of an ID counts.
	Signals map[string]bool
}

// Roller is a [resource.Provider] of groups whose instances CloudFormation
// replaces. Its methods work on the group that the request's PhysicalID names and
// err like those of a provider. They do not wait.
type Roller interface {
	// Observe returns what the group looks like.
	Observe(ctx context.Context, r resource.Request) (Group, error)
	// Resize sets a group's minimum and its desired capacity.
	Resize(ctx context.Context, r resource.Request, minimum, desired int) error
	// Terminate ends an instance as TerminateInstanceInAutoScalingGroup does. One
	// that is on its way out or gone is none of its concern.
	Terminate(ctx context.Context, r resource.Request, id string, decrement bool) error
	// Suspend suspends processes of the group, or resumes them, and returns those for
	// which that was something new.
	Suspend(ctx context.Context, r resource.Request, processes []string, suspended bool) ([]string, error)
	// Watch calls changed, with no lock held, whenever the group may look different.
	// There is one watcher of a group at most; nil ends it.
	Watch(ctx context.Context, r resource.Request, changed func()) error
}
