package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/apply"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/backup"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/boots"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/bootstraptoken"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/bucket"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/bucketbackups"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/cache"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/clusterapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/credentials"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/directory"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/draining"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/drift"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/etcdvolumes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/instances"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/models"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/objects"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outputs"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/owner"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/repair"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/signals"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/stackcache"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/targets"
	"github.com/aws-operator/aws-operator/internal/cluster/drain"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/offerings"
	"github.com/aws-operator/aws-operator/internal/cluster/programs"
	"github.com/aws-operator/aws-operator/internal/cluster/rewrite"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/ekstoken"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// operator holds what the controllers of Clusters and InstanceGroups share.
type operator struct {
	options Options
	// client reads Clusters, InstanceGroups and Releases from the manager's cache; direct reads
	// Secrets, which are not cached.
	client, direct client.Client
	// objects reads objects that belong together.
	objects *objects.Objects

	clusters *operatorkit.Reconciler[*v1alpha1.Cluster]
	groups   *operatorkit.Reconciler[*v1alpha1.InstanceGroup]

	directory *directory.Directory
	nodeup    *programs.Folder
	instances *instances.Instances
	backups   *backup.Backups
	// bucketBackups are those that slots make.
	bucketBackups *bucketbackups.Checks
	nodeClasses   *cache.Keyed[types.UID, nodeClassApplied]
	volumes       *etcdvolumes.Volumes
	// draining handles events about instances, drains has the nodes being drained, and repairs replaces unhealthy
	// instances. recorder records Events in addition to those of the controllers.
	draining *draining.Draining
	drains   *drain.Drains
	repairs  *repair.Repairs
	recorder events.EventRecorder
	// rolls replaces instances where CloudFormation does not.
	rolls *rolls

	// stacks caches for which inputs stacks are up to date.
	stacks *stackcache.Stacks
	// outputs confirms the outputs in Clusters' statuses, apply applies rendered stacks, and owner
	// computes the tags that prove whose they are.
	outputs *outputs.Outputs
	apply   *apply.Stacks
	owner   owner.Operator
	// models resolves Clusters, and targets determines their accounts and regions.
	models  *models.Models
	targets *targets.Targets
	// credentials manages CAs, kubeconfigs and connections, bucket what instances download, and
	// tokens the tokens that workers join with.
	credentials *credentials.Credentials
	bucket      *bucket.Store
	tokens      *bootstraptoken.Tokens
	// catalog caches what AWS offers.
	catalog *offerings.Catalog
	// signals sends signals for new instances, boots finds those that do not become nodes.
	signals *signals.Signals
	boots   *boots.Boots
	// drifts checks stacks for changes outside of CloudFormation.
	drifts *drift.Checks
	// capi are Cluster API's objects, nil if the operator does not work with them.
	capi *clusterapi.Objects
	// passes are the walks over the objects of Clusters that write them again.
	passes *cache.Keyed[types.UID, *rewrite.Pass]
}

func newOperator(options Options, cached, direct client.Client, recorder events.EventRecorder) *operator {
	o := &operator{
		options: options, client: cached, direct: direct, objects: objects.New(cached), recorder: recorder,
		nodeup:  programs.In(options.NodeupDir),
		repairs: repair.New(repair.Options{Clients: options.Clients, Clock: options.Clock, Recorder: recorder}),
		owner:   owner.Operator(options.ClusterName), apply: apply.New(options.Engine),
		stacks: stackcache.New(), signals: signals.New(options.Engine, options.Clock), boots: boots.New(options.Clock),
		catalog: offerings.New(options.Clock), nodeClasses: cache.NewKeyed[types.UID, nodeClassApplied](),
		passes: cache.NewKeyed[types.UID, *rewrite.Pass](),
		drifts: drift.New(drift.Options{Engine: options.Engine, Interval: options.DriftInterval, Recorder: recorder}),
		targets: targets.New(targets.Options{
			Clients: options.Clients, AccountID: options.AccountID, Roles: options.Roles, Identities: options.Identities,
		}),
	}
	o.credentials = credentials.New(credentials.Options{
		Secrets: direct, Clients: options.Clients, Workload: options.Workload, Clock: options.Clock,
		Presigner: func(cluster *v1alpha1.Cluster) ekstoken.Presigner {
			return options.Clients.CallerPresigner(o.targets.Of(cluster))
		},
		ClusterAPI: o.followsClusterAPI,
	})
	o.outputs = outputs.New(outputs.Options{
		Engine: options.Engine, Target: o.targets.Of, Owner: o.owner,
		Enqueue: func(cluster *v1alpha1.Cluster) { o.clusters.Enqueue(keyOf(cluster)) },
	})
	ec2 := func(cluster *v1alpha1.Cluster) awsapi.EC2 { return options.Clients.EC2(o.targets.Of(cluster)) }
	s3 := func(cluster *v1alpha1.Cluster) awsapi.S3 { return options.Clients.S3(o.targets.Of(cluster)) }
	o.bucket = bucket.NewStore(s3, o.nodeup)
	o.bucketBackups = bucketbackups.New(bucketbackups.Options{S3: s3, Clock: options.Clock, Confirm: o.outputs.Confirm})
	o.tokens = bootstraptoken.New(func(cluster *v1alpha1.Cluster) awsapi.SSM { return options.Clients.SSM(o.targets.Of(cluster)) })
	o.models = models.New(models.Options{EC2: ec2, Operator: options.ClusterName, Boundary: o.targets.Boundary})
	o.instances = instances.New(instances.Options{EC2: ec2, Clock: options.Clock, Recorder: recorder})
	o.backups = backup.New(backup.Options{
		EC2: ec2, Clock: options.Clock, Recorder: recorder, Owner: o.owner, Confirm: o.outputs.Confirm,
	})
	o.volumes = etcdvolumes.New(etcdvolumes.Options{
		EC2: ec2, Clock: options.Clock, Recorder: recorder, Operator: options.ClusterName, Confirm: o.outputs.Confirm,
	})
	o.draining = draining.New(draining.Options{
		Clients: options.Clients, Workload: options.Workload, Clock: options.Clock, Recorder: recorder, Client: cached, Objects: o.objects,
		Target: o.targets.Of, Place: o.targets.Place, Repairs: o.repairs, Instances: o.instances,
		EnqueueCluster: func(key types.NamespacedName) { o.clusters.Enqueue(key) },
		EnqueueGroup:   func(key types.NamespacedName) { o.groups.Enqueue(key) },
	})
	o.directory, o.drains = o.draining.Directory, o.draining.Drains
	options.Workload.IdentifyWith(o.identify)
	o.rolls = newRolls(&o.options, o.drains)
	return o
}

// forget drops what is cached for a deleted object.
func (o *operator) forget(uid types.UID) {
	for _, one := range o.caches() {
		one.Forget(uid)
	}
	o.passes.Drop(uid)
}

// forgetter caches facts about objects.
type forgetter interface {
	// Forget drops what is cached for a deleted object.
	Forget(uid types.UID)
}

// caches returns everything that caches facts about objects.
func (o *operator) caches() []forgetter {
	return []forgetter{
		o.directory, o.stacks, o.models, o.outputs, o.credentials, o.bucket, o.tokens, o.signals, o.instances, o.repairs, o.backups,
		o.bucketBackups,
		o.volumes, o.rolls, o.boots,
	}
}

// resolve returns the Cluster's model, with the CAs and keys that its slots use.
func (o *operator) resolve(
	ctx context.Context, cluster *v1alpha1.Cluster, release *v1alpha1.Release, keys model.Keys,
) (*model.Cluster, error) {
	resolved, err := o.models.Resolve(ctx, cluster, release)
	if err != nil {
		return nil, err //nolint:wrapcheck // callers tell problems from failures
	}
	its := *resolved // The cache has the other one.
	its.SetKeys(keys)
	return &its, nil
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
	groups, err := o.objects.GroupsOf(ctx, key)
	if err != nil {
		return nil, err
	}
	return o.instances.Identify(ctx, cluster, groups, ids)
}
