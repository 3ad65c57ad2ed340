package rolling

import (
	"context"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// Phase is the phase of an instance in a group.
type Phase int

// The phases of an instance. Leaving is Auto Scaling's Terminating. Left is any instance that is no
// longer part of the group, or that a terminating hook holds.
const (
	Launching Phase = iota
	InService
	Leaving
	Left
)

// Instance is one instance of a group.
type Instance struct {
	ID string
	// Obsolete says that the instance does not match what the group launches now.
	Obsolete bool
	Phase    Phase
}

// Group is an observation of an Auto Scaling group.
type Group struct {
	Min, Max, Desired int
	// Instances are in the order in which to replace them.
	Instances []Instance
	// Failure is why the group cannot make progress, or "".
	Failure string
}

// Observation is the input of a roll.
type Observation struct {
	Now   time.Time
	Group Group
	// Signals are the signals for the group, by unique ID: whether the first signal with the ID was
	// SUCCESS.
	Signals map[string]bool
}

// Roller is a [resource.Provider] of groups whose instances CloudFormation replaces. Its methods
// act on the group in the request's PhysicalID and return errors like those of a provider. They do
// not wait.
type Roller interface {
	// Observe returns the current state of the group.
	Observe(ctx context.Context, r resource.Request) (Group, error)
	// Resize sets a group's minimum and desired capacity.
	Resize(ctx context.Context, r resource.Request, minimum, desired int) error
	// Terminate terminates an instance like TerminateInstanceInAutoScalingGroup. It ignores
	// instances that are terminating or do not exist.
	Terminate(ctx context.Context, r resource.Request, id string, decrement bool) error
	// Suspend suspends or resumes processes of the group, and returns those whose state changed.
	Suspend(ctx context.Context, r resource.Request, processes []string, suspended bool) ([]string, error)
	// Watch calls changed, with no lock held, whenever the group may have changed. A group has at
	// most one watcher; nil removes it.
	Watch(ctx context.Context, r resource.Request, changed func()) error
}
