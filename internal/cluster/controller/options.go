package controller

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/apply"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/drift"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/targets"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/grant"
	"github.com/aws-operator/aws-operator/internal/identity"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	// fieldOwner is the operator's field manager in objects that it applies.
	fieldOwner = "aws-operator"
	// finalizer is on every Cluster and InstanceGroup that the operator created resources for.
	finalizer = v1alpha1.Group + "/operator"
)

// Engine reconciles stacks. *stack.Engine implements it.
type Engine interface {
	apply.Engine
	drift.Engine
	Signal(ctx context.Context, target awsapi.Target, owner stack.Owner, logicalID, instanceID string) (waiting bool, err error)
	Cancel(ctx context.Context, target awsapi.Target, owner stack.Owner) (cancelled bool, err error)
	Outputs(ctx context.Context, target awsapi.Target, owner stack.Owner) (map[string]string, error)
}

// Events reports changes in AWS. *awsevents.Listener implements it.
type Events interface {
	// Subscribe passes every event to fn.
	Subscribe(fn func(awsevents.Event))
	// Use listens to an account and region for a user until Release. Repeating it has no effect.
	Use(user string, target awsapi.Target)
	// Release ends what Use began.
	Release(user string)
	// ExpectInstances enables the search for missed instance events, which is more frequent where
	// expect reports that instances are terminating.
	ExpectInstances(expect func(awsapi.Place) awsevents.Expectation)
}

// Identities says with which credentials, where, and with which limits the operator acts for a
// Cluster; *identity.Identities implements it.
type Identities interface {
	targets.Identities
	Concerns(ctx context.Context, change identity.Change, wish identity.Wish) bool
	Subscribe(fn func(context.Context, identity.Change))
	CountUsers(fn func(ctx context.Context, identity string) ([]string, error))
}

// Clients provides the controllers' AWS clients. *awsapi.Clients implements it.
type Clients interface { //nolint:interfacebloat // nolint:interfacebloat // one method per service
	Region(t awsapi.Target) string
	STS(t awsapi.Target) awsapi.STS
	EC2(t awsapi.Target) awsapi.EC2
	S3(t awsapi.Target) awsapi.S3
	SSM(t awsapi.Target) awsapi.SSM
	AutoScaling(t awsapi.Target) awsapi.AutoScaling
	CloudFormation(t awsapi.Target) awsapi.CloudFormation
	Resolver() awsapi.Resolver
	// CallerPresigner presigns the requests that are tokens of EKS clusters.
	CallerPresigner(t awsapi.Target) *sts.PresignClient
}

// Addons reconciles the charts of workload clusters to the Release and the Cluster.
//
// Ensure is called on every reconcile of a cluster whose API responds. It must be fast and make no
// call if nothing changed. It does slow work in the background and calls enqueue when that ends. It
// may set the condition AddonsReady.
type Addons interface {
	// Ensure moves the cluster's addons toward the desired state. To is the cluster's connection.
	Ensure(
		ctx context.Context, cluster *v1alpha1.Cluster, release *v1alpha1.Release, to *workload.Cluster, enqueue func(),
	) operatorkit.Outcome
	// Forget stops work for a cluster that is being deleted. Its charts are deleted with the
	// cluster.
	Forget(cluster types.NamespacedName)
}

// Cleanup deletes AWS resources that a workload cluster created outside its stacks. Its methods are
// called until they are done, and may be called again after an interruption of the deletion.
type Cleanup interface {
	// BeforeNodes is called while the nodes still run, so that Kubernetes itself can delete what it
	// created. To is the connection, nil if there is none; it may be unreachable.
	BeforeNodes(ctx context.Context, cluster *v1alpha1.Cluster, target awsapi.Target, to *workload.Cluster) operatorkit.Outcome
	// AfterNodes is called when no instances remain, before the base stack is deleted.
	AfterNodes(ctx context.Context, cluster *v1alpha1.Cluster, target awsapi.Target) operatorkit.Outcome
	// Sweep is called after the stacks are deleted. It reports leftover resources.
	Sweep(ctx context.Context, cluster *v1alpha1.Cluster, target awsapi.Target) operatorkit.Outcome
}

// Options configure the controllers. Engine, Clients, Workload, AccountID and ClusterName are
// required.
type Options struct {
	// Engine reconciles CloudFormation stacks.
	Engine Engine
	// Clients call the other AWS services.
	Clients Clients
	// Events, if not nil, reports changes in AWS. Otherwise the controllers poll.
	Events Events
	// Workload holds the connections to workload clusters. Setup adds it to the manager.
	Workload *workload.Clusters
	// AccountID is the operator's own account.
	AccountID string
	// ClusterName distinguishes the operators of one account.
	ClusterName string
	// Roles are the IAM roles that Clusters of a namespace may name in spec.role. Empty refuses
	// all.
	Roles []grant.Grant
	// Identities, if not nil, resolves Clusters that name no role. Without it, the operator acts
	// with its own credentials.
	Identities Identities
	// NodeupDir is the folder with the files nodeup-linux-amd64 and nodeup-linux-arm64, or with
	// nodeup for the operator's own architecture.
	NodeupDir string
	// Releases are the built-in Releases, created where none with that name exists.
	Releases []*v1alpha1.Release
	// WatchNamespaces limits the operator to these namespaces; empty means all.
	WatchNamespaces []string
	// Shard is the part of the Clusters that this process reconciles, with their InstanceGroups; the zero
	// value is all. The manager's cache must have only those: see [InformersOf].
	Shard operatorkit.Shard
	// KindsExist is whether [EnsureKinds] has been called, so that Setup need not.
	KindsExist bool
	// Brief is whether no rotation of CAs begins and no slot moves to another zone. It is for processes that
	// end before the nodes of a stage were replaced.
	Brief bool
	// MaxConcurrentReconciles is how many objects of a kind are reconciled at once, by default 8.
	MaxConcurrentReconciles int
	// DriftInterval is the time between two checks of a stack for drift; 0 checks only on request.
	DriftInterval time.Duration
	// BackgroundLimiter, if not nil, delays background reconciles while users edit. All controllers
	// of a process should share one.
	BackgroundLimiter *operatorkit.BackgroundLimiter
	// Metrics, if not nil, counts and times reconciles.
	Metrics *operatorkit.Metrics
	// Clock is the real clock by default.
	Clock clock.Clock
	// Addons, if not nil, manages the clusters' addons.
	Addons Addons
	// Cleanup, if not nil, deletes AWS resources that the clusters' controllers created.
	Cleanup Cleanup
	// ClusterAPI is whether Clusters and InstanceGroups follow the objects of Cluster API that own them,
	// once its kinds are installed. The operator needs to read those.
	ClusterAPI bool
	// Logger logs what concerns no object.
	Logger logr.Logger
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
	return nil
}
