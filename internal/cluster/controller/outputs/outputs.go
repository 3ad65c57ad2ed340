package outputs

import (
	"context"
	"errors"
	"maps"

	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/cache"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/owner"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Engine reads the outputs of stacks. *stack.Engine implements it.
type Engine interface {
	Outputs(ctx context.Context, target awsapi.Target, owner stack.Owner) (map[string]string, error)
}

// Options configure [Outputs]. All are required.
type Options struct {
	Engine Engine
	// Target returns the account and region of a Cluster's stacks.
	Target func(*v1alpha1.Cluster) awsapi.Target
	// Owner is the operator's name in tags.
	Owner owner.Operator
	// Enqueue makes the controller reconcile a Cluster.
	Enqueue func(*v1alpha1.Cluster)
}

// Outputs caches the outputs of Clusters' base stacks as CloudFormation reported them.
type Outputs struct {
	options Options
	known   *cache.Keyed[types.UID, map[string]string]
}

// New returns an empty cache.
func New(options Options) *Outputs {
	return &Outputs{options: options, known: cache.NewKeyed[types.UID, map[string]string]()}
}

// Forget drops what is cached for a deleted Cluster.
func (o *Outputs) Forget(uid types.UID) { o.known.Drop(uid) }

// Saw caches the base stack's outputs as CloudFormation reported them.
func (o *Outputs) Saw(cluster *v1alpha1.Cluster, outputs map[string]string) {
	o.known.Keep(cluster.UID, maps.Clone(outputs))
}

// Hold reports whether the outputs in the Cluster's status match those that CloudFormation
// reported, as far as this process knows.
func (o *Outputs) Hold(cluster *v1alpha1.Cluster) bool {
	seen, ok := o.known.Get(cluster.UID)
	return !ok || maps.Equal(seen, cluster.Status.Outputs)
}

// Confirm ensures that the outputs in the Cluster's status, which name buckets, keys, volumes,
// zones and roles, are those of the Cluster's own base stack. It asks CloudFormation once per
// process, unless this process already read them. If they differ, it corrects them and returns
// [outcomes.ErrOutputsCorrected].
func (o *Outputs) Confirm(ctx context.Context, cluster *v1alpha1.Cluster) error {
	if len(cluster.Status.Outputs) == 0 {
		return nil
	}
	if seen, ok := o.known.Get(cluster.UID); ok && maps.Equal(seen, cluster.Status.Outputs) {
		return nil
	}
	found, err := o.read(ctx, cluster)
	if err != nil {
		return err
	}
	o.Saw(cluster, found)
	if maps.Equal(found, cluster.Status.Outputs) {
		return nil
	}
	cluster.Status.Outputs = found
	o.options.Enqueue(cluster) // An InstanceGroup cannot correct its Cluster's status.
	return outcomes.ErrOutputsCorrected
}

// read reads the outputs of the Cluster's own base stack.
func (o *Outputs) read(ctx context.Context, cluster *v1alpha1.Cluster) (map[string]string, error) {
	owner, err := o.options.Owner.Base(cluster)
	if err != nil {
		return nil, err
	}
	return o.options.Engine.Outputs(ctx, o.options.Target(cluster), owner) //nolint:wrapcheck // the engine explained it
}

// Confirmed returns the result of Confirm as an outcome.
func (o *Outputs) Confirmed(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if err := o.Confirm(ctx, cluster); err != nil {
		return outcomes.Failed(err)
	}
	return operatorkit.Done()
}

// Find reads the outputs of the base stack of a Cluster that is being deleted and lost its status. They
// name what has to be deleted before the stack can be. It asks CloudFormation once per process if
// there is no stack.
func (o *Outputs) Find(ctx context.Context, cluster *v1alpha1.Cluster) error {
	if seen, ok := o.known.Get(cluster.UID); len(cluster.Status.Outputs) > 0 || ok && len(seen) == 0 {
		return nil
	}
	found, err := o.read(ctx, cluster)
	if _, foreign := errors.AsType[*stack.ForeignError](err); foreign {
		found, err = nil, nil // The Cluster's name is in use by another owner, who keeps what that has.
	}
	if err != nil {
		return err
	}
	cluster.Status.Outputs = found
	o.Saw(cluster, found)
	return nil
}

// Recover reads the outputs of a base stack that exists although the status does not mention it, as
// after a restore of the management cluster. The outputs record which volumes were replaced and the
// issuer's URL. Without them, the base stack would be updated to that of a new cluster. Resource
// sets in which neither can differ need no lookup.
func (o *Outputs) Recover(ctx context.Context, cluster *v1alpha1.Cluster, of *v1alpha1.Release) error {
	known := record.Find(cluster, model.BaseStackName(cluster.Name))
	if len(cluster.Status.Outputs) > 0 || known != nil && (known.Record != nil || known.Status != "") {
		return nil
	}
	set, err := release.Set(of.Spec.ResourceSet)
	if err != nil || !set.Features.RejoinEtcd && !set.Features.IssuerBucket {
		return err //nolint:wrapcheck // the error names the set
	}
	found, err := o.read(ctx, cluster)
	if _, foreign := errors.AsType[*stack.ForeignError](err); foreign {
		return nil // The base step explains whose stack it is.
	}
	if err != nil || len(found) == 0 {
		return err
	}
	cluster.Status.Outputs = found
	o.Saw(cluster, found)
	var volumes []v1alpha1.EtcdVolumeStatus
	for slot := range model.MostSlots {
		if generation, snapshot := model.ParseEtcdGeneration(found[model.OutputEtcdGeneration(slot)]); generation > 0 {
			volumes = append(volumes, v1alpha1.EtcdVolumeStatus{Slot: int32(slot), Generation: generation, Snapshot: snapshot})
		}
	}
	if len(volumes) > 0 {
		if cluster.Status.Etcd == nil {
			cluster.Status.Etcd = &v1alpha1.EtcdStatus{}
		}
		cluster.Status.Etcd.Volumes = volumes
	}
	return nil
}
