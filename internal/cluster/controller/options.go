package controller

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	// fieldOwner is the operator's name in the managed fields of what it applies.
	fieldOwner = "aws-operator"
	// finalizer is on every Cluster and InstanceGroup that anything was made for.
	finalizer = v1alpha1.Group + "/operator"
)

// Engine brings stacks to what is wanted; *stack.Engine does.
type Engine interface {
	Ensure(ctx context.Context, target awsapi.Target, desired stack.Desired, record stack.Record) (stack.Result, error)
	Delete(ctx context.Context, target awsapi.Target, name string, record stack.Record, options stack.DeleteOptions) (stack.Result, error)
	Signal(ctx context.Context, target awsapi.Target, owner stack.Owner, logicalID, instanceID string) (waiting bool, err error)
	Cancel(ctx context.Context, target awsapi.Target, owner stack.Owner) (cancelled bool, err error)
	Outputs(ctx context.Context, target awsapi.Target, owner stack.Owner) (map[string]string, error)
}

// Events tells of changes in AWS; *awsevents.Listener does.
type Events interface {
	// Subscribe has every event passed to fn.
	Subscribe(fn func(awsevents.Event))
	// Listen adds an account and region to listen to; adding one again does nothing.
	Listen(target awsapi.Target)
	// Retain stops listening to the accounts and regions that Listen added and that are not among targets.
	Retain(targets []awsapi.Target)
	// ExpectInstances has lost news of instances looked for, often where expect says that some of ours are going.
	ExpectInstances(expect func(awsapi.Target) awsevents.Expectation)
}

// Clients gives the controllers their AWS clients; *awsapi.Clients does.
type Clients interface { //nolint:interfacebloat // one method a service
	Region(t awsapi.Target) string
	STS(t awsapi.Target) awsapi.STS
	EC2(t awsapi.Target) awsapi.EC2
	S3(t awsapi.Target) awsapi.S3
	SSM(t awsapi.Target) awsapi.SSM
	AutoScaling(t awsapi.Target) awsapi.AutoScaling
	CloudFormation(t awsapi.Target) awsapi.CloudFormation
	Resolver() awsapi.Resolver
}

// Addons keeps the charts of workload clusters as the release and the Cluster want them.
//
// Ensure is called once the API answers, whenever the cluster is looked at: it must be quick and make no
// call when nothing changed, and does slow work beside, ending it with a call of wake. It may set the
// condition AddonsReady.
type Addons interface {
	// Ensure brings the cluster's addons one step nearer to what is wanted. To is its connection.
	Ensure(ctx context.Context, cluster *v1alpha1.Cluster, release *v1alpha1.Release, to *workload.Cluster, wake func()) operatorkit.Outcome
	// Forget ends what is under way for a cluster that is being deleted. The charts go with the cluster.
	Forget(cluster types.NamespacedName)
}

// Cleanup removes what a workload cluster made in AWS that is in none of its stacks. Its methods are
// called again until they are done, and once more in the next step of a deletion that was interrupted.
type Cleanup interface {
	// BeforeNodes is called while the nodes still run: what Kubernetes itself can take down, it should.
	// To is the connection, nil if there is none; it may be unreachable.
	BeforeNodes(ctx context.Context, cluster *v1alpha1.Cluster, target awsapi.Target, to *workload.Cluster) operatorkit.Outcome
	// AfterNodes is called when no machine is left and before the base stack goes.
	AfterNodes(ctx context.Context, cluster *v1alpha1.Cluster, target awsapi.Target) operatorkit.Outcome
	// Sweep is called when the stacks are gone. It says what is left over, if anything is.
	Sweep(ctx context.Context, cluster *v1alpha1.Cluster, target awsapi.Target) operatorkit.Outcome
}

// Options say how clusters are run. Engine, Clients, Workload, AccountID and ClusterName are required.
type Options struct {
	// Engine talks to CloudFormation.
	Engine Engine
	// Clients talk to the rest of AWS.
	Clients Clients
	// Events, if not nil, tells when something changed in AWS; else it is looked at from time to time.
	Events Events
	// Workload holds the connections to workload clusters. Setup gives it to the manager.
	Workload *workload.Clusters
	// AccountID is the operator's own account.
	AccountID string
	// ClusterName tells operators of one account apart.
	ClusterName string
	// Roles are the roles that Clusters of a namespace may name in spec.role; empty refuses all.
	Roles []grant.Grant
	// NodeupDir is where the files nodeup-linux-amd64 and nodeup-linux-arm64 are, or nodeup for the
	// operator's own architecture.
	NodeupDir string
	// Releases are the built-in ones, made where none of their name exists.
	Releases []*v1alpha1.Release
	// WatchNamespaces limits the operator to these namespaces; empty means all.
	WatchNamespaces []string
	// MaxConcurrentReconciles is how many objects of a kind are worked on at once; by default 8.
	MaxConcurrentReconciles int
	// BackgroundLimiter, if not nil, slows down what nobody waits for while people edit. All controllers of a process should
	// share one.
	BackgroundLimiter *operatorkit.BackgroundLimiter
	// SlowRetry is the delay, which then grows, after which a stack is tried again that failed for want of
	// something in AWS; by default a minute.
	SlowRetry time.Duration
	// Metrics, if not nil, counts and times reconciles.
	Metrics *operatorkit.Metrics
	// Clock is by default the real one.
	Clock clock.Clock
	// Addons, if not nil, keeps the clusters' addons.
	Addons Addons
	// Cleanup, if not nil, removes what clusters made in AWS by themselves.
	Cleanup Cleanup
}

func (o *Options) complete() error {
	switch {
	case o.Engine == nil || o.Clients == nil || o.Workload == nil:
		return errors.New("the controllers of clusters need an Engine, Clients and Workload")
	case o.AccountID == "" || o.ClusterName == "":
		return errors.New("the controllers of clusters need AccountID and ClusterName")
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.SlowRetry == 0 {
		o.SlowRetry = firstSlowRetry
	}
	return nil
}
