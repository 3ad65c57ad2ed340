package controller

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/apply"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/backup"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/cache"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/directory"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/etcdvolumes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/instances"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/models"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outputs"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/owner"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/repair"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/signals"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/stackcache"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/programs"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// operator holds what the controllers of Clusters and InstanceGroups share.
type operator struct {
	options Options
	// client reads Clusters, InstanceGroups and Releases from the manager's cache; direct reads
	// Secrets, which are not cached.
	client, direct client.Client

	clusters *operatorkit.Reconciler[*v1alpha1.Cluster]
	groups   *operatorkit.Reconciler[*v1alpha1.InstanceGroup]

	directory *directory.Directory
	accounts  *accounts
	nodeup    *programs.Folder
	instances *instances.Instances
	backups   *backup.Backups
	volumes   *etcdvolumes.Volumes
	// drains drains nodes, repairs tracks unhealthy instances, and unclaimed holds events about
	// objects that were not reconciled yet. recorder records Events in addition to those of the
	// controllers.
	drains    *drain.Drains
	repairs   *repair.Repairs
	unclaimed *unclaimedEvents
	recorder  events.EventRecorder
	// rolls replaces instances where CloudFormation does not.
	rolls *rolls

	// stacks caches for which inputs stacks are up to date.
	stacks *stackcache.Stacks
	// outputs confirms the outputs in Clusters' statuses, apply applies rendered stacks, and owner
	// computes the tags that prove whose they are.
	outputs *outputs.Outputs
	apply   *apply.Stacks
	owner   owner.Operator
	// models resolves Clusters; cas caches their CAs.
	models *models.Models
	cas    *cache.Keyed[types.UID, *pki.CAs]
	// signals sends signals for new instances. autoscaling holds the token of the operation at whose
	// start the cluster autoscaler was suspended.
	signals     *signals.Signals
	autoscaling *cache.Keyed[types.UID, string]
	// tokens holds bootstrap tokens that are created but not yet published.
	tokens *cache.Keyed[types.UID, pki.Token]
	// knownCAs, stored, kubeconfigs and connected cache what exists for a Cluster: its CAs, the
	// content of its bucket, its kubeconfig, and the operator's own connection, the latter two with
	// their expiry.
	knownCAs *cache.Keyed[types.UID, struct{}]
	stored   *cache.Keyed[types.UID, string]
	// storedNodeup caches the key of the nodeup that was last stored in the bucket of a Cluster
	// that is being created.
	storedNodeup *cache.Keyed[types.UID, string]
	kubeconfigs  *cache.Keyed[types.UID, validity]
	connected    *cache.Keyed[types.UID, validity]
}

// validity is the server address that a credential was made for, and its expiry.
type validity struct {
	server string
	until  time.Time
}

func newOperator(options Options, cached, direct client.Client, recorder events.EventRecorder) *operator {
	o := &operator{
		unclaimed: newUnclaimedEvents(),
		options:   options, client: cached, direct: direct, recorder: recorder,
		accounts: newAccounts(), nodeup: programs.In(options.NodeupDir),
		repairs: repair.New(repair.Options{Clients: options.Clients, Clock: options.Clock, Recorder: recorder}),
		owner:   owner.Operator(options.ClusterName), apply: apply.New(options.Engine, options.Clock, options.SlowRetry),
		stacks:      stackcache.New(),
		cas:         cache.NewKeyed[types.UID, *pki.CAs](),
		tokens:      cache.NewKeyed[types.UID, pki.Token](),
		signals:     signals.New(options.Engine, options.Clock),
		autoscaling: cache.NewKeyed[types.UID, string](),
		knownCAs:    cache.NewKeyed[types.UID, struct{}](), stored: cache.NewKeyed[types.UID, string](),
		storedNodeup: cache.NewKeyed[types.UID, string](),
		kubeconfigs:  cache.NewKeyed[types.UID, validity](), connected: cache.NewKeyed[types.UID, validity](),
	}
	o.outputs = outputs.New(outputs.Options{
		Engine: options.Engine, Target: o.target, Owner: o.owner,
		Enqueue: func(cluster *v1alpha1.Cluster) { o.clusters.Enqueue(keyOf(cluster)) },
	})
	ec2 := func(cluster *v1alpha1.Cluster) awsapi.EC2 { return options.Clients.EC2(o.target(cluster)) }
	o.models = models.New(models.Options{EC2: ec2, Operator: options.ClusterName})
	o.instances = instances.New(instances.Options{EC2: ec2, Clock: options.Clock, Recorder: recorder})
	o.backups = backup.New(backup.Options{
		EC2: ec2, Clock: options.Clock, Recorder: recorder, Owner: o.owner, Confirm: o.outputs.Confirm,
	})
	o.volumes = etcdvolumes.New(etcdvolumes.Options{
		EC2: ec2, Clock: options.Clock, Recorder: recorder, Operator: options.ClusterName, Confirm: o.outputs.Confirm,
	})
	o.directory = directory.New(o.claimed)
	options.Workload.IdentifyWith(o.identify)
	o.drains = drain.New(drain.Options{
		Clients: options.Clients, Workload: options.Workload, Clock: options.Clock, Logger: ctrl.Log.WithName("drain"), Tell: o.drainNotice,
	})
	o.drains.Subscribe(o.drainProgressed)
	o.rolls = newRolls(&o.options, o.drains)
	return o
}

// forget drops all caches of a deleted object.
func (o *operator) forget(uid types.UID) {
	o.outputs.Forget(uid)
	o.backups.Forget(uid)
	o.models.Forget(uid)
	o.signals.Forget(uid)
	o.autoscaling.Drop(uid)
	o.instances.Forget(uid)
	o.cas.Drop(uid)
	o.tokens.Drop(uid)
	o.knownCAs.Drop(uid)
	o.stored.Drop(uid)
	o.storedNodeup.Drop(uid)
	o.volumes.Forget(uid)
	o.kubeconfigs.Drop(uid)
	o.connected.Drop(uid)
	o.stacks.Forget(uid)
	o.directory.Forget(uid)
	o.repairs.Forget(uid)
}

// release returns the Cluster's Release. The informer cache owns it, so callers must not change it;
// copying would be expensive since every reconcile reads it many times.
func (o *operator) release(ctx context.Context, cluster *v1alpha1.Cluster) (*v1alpha1.Release, error) {
	release := &v1alpha1.Release{}
	if err := o.client.Get(ctx, types.NamespacedName{Name: cluster.Spec.Release}, release, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("read Release %s: %w", cluster.Spec.Release, err)
	}
	return release, nil
}

// groupsOf returns the InstanceGroups of the Cluster. The informer cache owns them; callers must
// not change them.
func (o *operator) groupsOf(ctx context.Context, key types.NamespacedName) ([]v1alpha1.InstanceGroup, error) {
	list := &v1alpha1.InstanceGroupList{}
	if err := o.client.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingFields{clusterIndex: key.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the instance groups of cluster %s: %w", key, err)
	}
	return list.Items, nil
}

// keyOf returns the name of an object.
func keyOf(obj client.Object) types.NamespacedName { return client.ObjectKeyFromObject(obj) }

// clusterKeyOf returns the key of an InstanceGroup's Cluster.
func clusterKeyOf(group *v1alpha1.InstanceGroup) types.NamespacedName {
	return types.NamespacedName{Namespace: group.Namespace, Name: group.Spec.Cluster}
}

// identify looks up a Cluster's instances in EC2.
func (o *operator) identify(ctx context.Context, key types.NamespacedName, ids []string) (map[string]workload.Identity, error) {
	cluster := &v1alpha1.Cluster{}
	if err := o.client.Get(ctx, key, cluster); err != nil {
		return nil, fmt.Errorf("read Cluster %s: %w", key, err)
	}
	groups, err := o.groupsOf(ctx, key)
	if err != nil {
		return nil, err
	}
	return o.instances.Identify(ctx, cluster, groups, ids)
}
