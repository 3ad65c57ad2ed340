package awsevents

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
)

// Event is one event from EventBridge, or one difference that a sweep found.
type Event struct {
	// ID is EventBridge's identifier of the event; empty when a sweep found the difference.
	ID string
	// Source and DetailType say what kind of event it is, for example "aws.cloudformation".
	Source, DetailType string
	// Account and Region are where it happened.
	Account, Region string
	// Time is when it happened.
	Time time.Time
	// Stack is set for status changes of stacks.
	Stack *stack.Event
	// Raw is the event as it came; nil from a sweep.
	Raw json.RawMessage
}

// Options configure a Listener; Clients and Engine are required.
type Options struct {
	Clients *awsapi.Clients
	Engine  *stack.Engine
	Clock   clock.WithTicker
	Logger  logr.Logger
	// Registerer receives the listener's metrics; nil for none.
	Registerer prometheus.Registerer
	// ClusterName is the operator's cluster name; see the package documentation.
	ClusterName string
	// Targets are the accounts and regions to listen to; default is the operator's own.
	Targets []awsapi.Target
	// SweepInterval is the time between sweeps; default 10 minutes.
	SweepInterval time.Duration
	// Workers is how many long polls run at once for each target; default 4.
	Workers int
}

// Listener receives events and sweeps. It is a manager.Runnable.
type Listener struct {
	options Options
}

// New returns a listener that does nothing until it is started.
func New(options Options) *Listener {
	return &Listener{options: options}
}

// Subscribe has every event passed to fn, which must return quickly. Subscribe before Start.
func (l *Listener) Subscribe(fn func(Event)) {
}

// Start listens and sweeps until the context ends.
func (l *Listener) Start(ctx context.Context) error {
	return errors.ErrUnsupported
}

// Sweep compares all stacks of a target with what the engine knows and passes on every difference.
func (l *Listener) Sweep(ctx context.Context, target awsapi.Target) error {
	return errors.ErrUnsupported
}
