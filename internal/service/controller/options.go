package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/objectmetrics"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// fieldOwner is the operator's field manager.
const fieldOwner = "aws-operator"

// Engine converges stacks; *stack.Engine implements it.
type Engine interface {
	Ensure(ctx context.Context, target awsapi.Target, desired stack.Desired, record stack.Record) (stack.Result, error)
	Delete(ctx context.Context, target awsapi.Target, name string, record stack.Record, options stack.DeleteOptions) (stack.Result, error)
	Withdraw(ctx context.Context, target awsapi.Target, owner stack.Owner, record stack.Record) error
	Drift(ctx context.Context, target awsapi.Target, request stack.DriftRequest, record stack.DriftRecord) stack.DriftResult
	Reader
}

// Reader reads resources; *stack.Engine implements it.
type Reader interface {
	Read(ctx context.Context, target awsapi.Target, role, kind, identifier string) (properties string, err error)
	PhysicalIDs(ctx context.Context, target awsapi.Target, name, of string) ([]string, error)
}

// Events reports changes of stacks; *awsevents.Listener implements it.
type Events interface {
	Subscribe(fn func(awsevents.Event))
	// Use listens to an account and region for a user until Release.
	Use(user string, target awsapi.Target)
	Release(user string)
}

// Options configure modeled kinds. Engine, Region, AccountID and ClusterName are required.
type Options struct {
	// Engine manages the CloudFormation stacks.
	Engine Engine
	// Events, if not nil, reports changes of stacks; without it stacks are polled.
	Events Events
	// Identities, if not nil, says how to act for an object; without it, all objects use Target.
	Identities Identities
	// Target is the account and region of stacks of objects without an identity; the zero value is
	// the operator's own.
	Target awsapi.Target
	// Region and AccountID are the target's.
	Region, AccountID string
	// ClusterName is the first part of every stack's name; it separates the operators of one
	// account.
	ClusterName string
	// WatchNamespaces limits the operator to these namespaces; empty means all.
	WatchNamespaces []string
	// Shard is the part of the namespaces whose objects this process reconciles; the zero value is all.
	// Definitions and templates belong to one process, too, and the others follow them.
	Shard operatorkit.Shard
	// KindsExist is whether [EnsureKinds] has been called, so that Setup need not.
	KindsExist bool
	// Limits restrict what objects may make the operator do with its permissions; the zero value
	// allows nothing beyond what models do.
	Limits render.Limits
	// ServiceAccountIssuer is the URL of the issuer of the cluster's service account tokens, whose
	// provider is registered in IAM in every account with granted resources. Without it and EKSCluster,
	// grants are refused.
	ServiceAccountIssuer string
	// EKSCluster is the ARN of the EKS cluster whose Pod Identity gives pods their roles; empty if the
	// issuer does.
	EKSCluster string
	// DriftInterval is the time between two checks of a stack for drift; 0 checks only those for which a
	// user asks.
	DriftInterval time.Duration
	// Registry holds the resource types; by default all of AWS's.
	Registry *schema.Registry
	// MaxConcurrentReconciles is the number of objects of a kind that are reconciled concurrently;
	// by default 8.
	MaxConcurrentReconciles int
	// BackgroundLimiter delays background work while users edit; by default each service has its
	// own.
	BackgroundLimiter *operatorkit.BackgroundLimiter
	// Metrics, if not nil, counts and measures reconciles.
	Metrics *operatorkit.Metrics
	// ObjectMetrics, if not nil, reports the objects of the kinds.
	ObjectMetrics *objectmetrics.Collector
	// Clock defaults to the real clock.
	Clock clock.PassiveClock
}

// makesRoles reports whether the operator makes roles for service accounts and objects.
func (o *Options) makesRoles() bool { return o.ServiceAccountIssuer != "" || o.EKSCluster != "" }

func (o *Options) complete() error {
	switch {
	case o.Engine == nil:
		return errors.New("the controllers of modeled kinds need an Engine")
	case o.Region == "" || o.AccountID == "" || o.ClusterName == "":
		return errors.New("the controllers of modeled kinds need Region, AccountID and ClusterName")
	}
	if o.ServiceAccountIssuer != "" {
		if err := render.CheckIssuer(o.ServiceAccountIssuer); err != nil {
			return fmt.Errorf("ServiceAccountIssuer: %w", err)
		}
	}
	if o.EKSCluster != "" {
		if err := render.CheckEKSCluster(o.EKSCluster); err != nil {
			return fmt.Errorf("EKSCluster: %w", err)
		}
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
