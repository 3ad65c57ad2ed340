package controller

import (
	"context"
	"errors"

	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// fieldOwner is the operator's name in the managed fields of what it applies.
const fieldOwner = "aws-operator"

// Engine brings stacks to what is wanted; *stack.Engine does.
type Engine interface {
	Ensure(ctx context.Context, target awsapi.Target, desired stack.Desired, record stack.Record) (stack.Result, error)
	Delete(ctx context.Context, target awsapi.Target, name string, record stack.Record, options stack.DeleteOptions) (stack.Result, error)
	Withdraw(ctx context.Context, target awsapi.Target, owner stack.Owner, record stack.Record) error
	PhysicalIDs(ctx context.Context, target awsapi.Target, name string) ([]string, error)
}

// Events tells of changes of stacks; *awsevents.Listener does.
type Events interface {
	Subscribe(fn func(awsevents.Event))
}

// Options say how modelled kinds are served. Engine, Region, AccountID and ClusterName are required.
type Options struct {
	// Engine talks to CloudFormation.
	Engine Engine
	// Events, if not nil, tells when a stack changed; else stacks are looked at from time to time.
	Events Events
	// Target is where stacks are made; the zero value is the operator's own account and region.
	Target awsapi.Target
	// Region and AccountID are those of the target.
	Region, AccountID string
	// ClusterName is the first part of every stack's name; it tells operators of one account apart.
	ClusterName string
	// WatchNamespaces limits the operator to these namespaces; empty means all.
	WatchNamespaces []string
	// Limits bound what objects may have the operator do with its permissions; the zero value allows nothing beyond
	// what models do.
	Limits render.Limits
	// Registry holds the resource types; by default all of AWS's.
	Registry *schema.Registry
	// MaxConcurrentReconciles is how many objects of a kind are worked on at once; by default 8.
	MaxConcurrentReconciles int
	// BackgroundLimiter slows down what nobody waits for while people edit; by default one of its own.
	BackgroundLimiter *operatorkit.BackgroundLimiter
	// Metrics, if not nil, counts and times reconciles.
	Metrics *operatorkit.Metrics
	// Clock is by default the real one.
	Clock clock.PassiveClock
}

func (o *Options) complete() error {
	switch {
	case o.Engine == nil:
		return errors.New("the controllers of modelled kinds need an Engine")
	case o.Region == "" || o.AccountID == "" || o.ClusterName == "":
		return errors.New("the controllers of modelled kinds need Region, AccountID and ClusterName")
	}
	if o.Limits.OwnPrefix == "" {
		o.Limits.OwnPrefix = awsevents.StackName("")
	}
	if o.Registry == nil {
		o.Registry = schema.Default()
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.BackgroundLimiter == nil {
		o.BackgroundLimiter = operatorkit.NewBackgroundLimiter(o.Clock, 0)
	}
	return nil
}
