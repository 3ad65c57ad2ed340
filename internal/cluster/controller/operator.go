package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/programs"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// operator is what the controllers of Clusters and InstanceGroups share.
type operator struct {
	options Options
	// client reads Clusters, InstanceGroups and Releases from the manager's cache; direct reads what is
	// not cached, which is Secrets.
	client, direct client.Client

	// inCharge returns when this operator first looked at a stack: what began before may have gone on without one.
	inCharge func() time.Time

	clusters *operatorkit.Reconciler[*v1alpha1.Cluster]
	groups   *operatorkit.Reconciler[*v1alpha1.InstanceGroup]

	directory *directory
	accounts  *accounts
	nodeup    *programs.Folder
	departed  *departed
	backed    *backedUp
	// drains empties nodes, repairs remembers machines that are not well, early is news of machines of objects that nobody looked at
	// yet; recorder writes Events beside those of the controllers.
	drains   *drain.Drains
	repairs  *repairs
	early    *earlyNews
	recorder events.EventRecorder
	// rolls replaces machines where CloudFormation does not.
	rolls *rolls

	// settled holds, by object and stack, from which inputs the stack was found in place.
	settled *memo[stackKey, uint64]
	// outputs holds what CloudFormation said of the base stacks' outputs.
	outputs *memo[types.UID, map[string]string]
	// unmade holds the slots' stacks that cannot be there, since the base stack was seen being made; rendered holds what was rendered for
	// stacks that are on their way.
	unmade *memo[stackKey, struct{}]
	// volumes holds which etcd volumes were missing when EC2 was asked last.
	volumes  *memo[types.UID, volumesSeen]
	rendered *latest[stackKey, rendered]
	// networks holds what AWS said of the Clusters' existing VPCs.
	networks *memo[types.UID, network]
	// models and authorities hold what is needed again and again while a Cluster is made.
	models      *memo[modelKey, resolved]
	authorities *memo[types.UID, *pki.Authorities]
	// signals holds the signals that were sent, autoscaling the operation by whose beginning the cluster autoscaler was kept off.
	signals *memo[signalled, struct{}]
	// unconfirmed holds what was reported of Nodes that are not what they claim to be, by their UIDs.
	unconfirmed *memo[types.UID, map[string]string]
	autoscaling *memo[types.UID, string]
	// tokens holds bootstrap tokens that are made but not yet published.
	tokens *memo[types.UID, pki.Token]
	// secured, stored, opened and connected hold what of a Cluster was found in place: its CAs, what is
	// in its bucket, its kubeconfig and until when, the operator's own connection and until when.
	secured *memo[types.UID, struct{}]
	stored  *memo[types.UID, string]
	// brought is the key of the nodeup that was put last into the bucket of a Cluster that is being made.
	brought   *memo[types.UID, string]
	opened    *memo[types.UID, validity]
	connected *memo[types.UID, validity]
}

// modelKey is one model of one Cluster: of the Release that it runs, or of the one that its control plane moves to, ahead of its groups.
type modelKey struct {
	uid   types.UID
	ahead bool
}

// stackKey is one stack of one object.
type stackKey struct {
	uid   types.UID
	stack string
}

// validity is until when something made for an address holds.
type validity struct {
	server string
	until  time.Time
}

func newOperator(options Options, cached, direct client.Client) *operator {
	o := &operator{
		repairs: newRepairs(), early: newEarlyNews(),
		options: options, client: cached, direct: direct, inCharge: sync.OnceValue(options.Clock.Now),
		directory: newDirectory(), accounts: newAccounts(), nodeup: programs.In(options.NodeupDir), departed: newDeparted(), backed: newBackedUp(),
		outputs: newMemo[types.UID, map[string]string](),
		settled: newMemo[stackKey, uint64](), networks: newMemo[types.UID, network](),
		models: newMemo[modelKey, resolved](), authorities: newMemo[types.UID, *pki.Authorities](),
		tokens:  newMemo[types.UID, pki.Token](),
		signals: newMemo[signalled, struct{}](), unconfirmed: newMemo[types.UID, map[string]string](), autoscaling: newMemo[types.UID, string](),
		secured: newMemo[types.UID, struct{}](), stored: newMemo[types.UID, string](), brought: newMemo[types.UID, string](),
		volumes: newMemo[types.UID, volumesSeen](),
		unmade:  newMemo[stackKey, struct{}](), rendered: newLatest[stackKey, rendered](renderedAtOnce),
		opened: newMemo[types.UID, validity](), connected: newMemo[types.UID, validity](),
	}
	o.directory.claimed = o.claimed
	options.Workload.IdentifyWith(o.identify)
	o.drains = drain.New(drain.Options{
		Clients: options.Clients, Workload: options.Workload, Clock: options.Clock, Logger: ctrl.Log.WithName("drain"), Tell: o.drainNotice,
	})
	o.drains.Subscribe(o.drainProgressed)
	o.rolls = newRolls(&o.options, o.drains)
	return o
}

// forget drops all that is remembered of an object that is gone.
func (o *operator) forget(uid types.UID) {
	o.networks.drop(uid)
	o.outputs.drop(uid)
	o.backed.forget(uid)
	o.dropModels(uid)
	o.signals.dropAll(func(key signalled) bool { return key.uid == uid })
	o.autoscaling.drop(uid)
	o.unconfirmed.drop(uid)
	o.authorities.drop(uid)
	o.tokens.drop(uid)
	o.secured.drop(uid)
	o.stored.drop(uid)
	o.brought.drop(uid)
	o.volumes.drop(uid)
	o.unmade.dropAll(func(key stackKey) bool { return key.uid == uid })
	o.opened.drop(uid)
	o.connected.drop(uid)
	o.settled.dropAll(func(key stackKey) bool { return key.uid == uid })
	o.directory.forget(uid)
	o.repairs.forget(uid)
}

// dropModels drops the models of a Cluster.
func (o *operator) dropModels(uid types.UID) {
	o.models.drop(modelKey{uid, false})
	o.models.drop(modelKey{uid, true})
}

// release returns the Cluster's Release. It is the cache's own, and must not be changed: a look reads it many times.
func (o *operator) release(ctx context.Context, cluster *v1alpha1.Cluster) (*v1alpha1.Release, error) {
	release := &v1alpha1.Release{}
	if err := o.client.Get(ctx, types.NamespacedName{Name: cluster.Spec.Release}, release, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("read Release %s: %w", cluster.Spec.Release, err)
	}
	return release, nil
}

// groupsOf returns the InstanceGroups that name the Cluster. They are the cache's own, and must not be changed.
func (o *operator) groupsOf(ctx context.Context, key types.NamespacedName) ([]v1alpha1.InstanceGroup, error) {
	list := &v1alpha1.InstanceGroupList{}
	if err := o.client.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingFields{clusterIndex: key.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the instance groups of cluster %s: %w", key, err)
	}
	return list.Items, nil
}
