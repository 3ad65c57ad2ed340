package controller

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/apply"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/approval"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/directory"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/etcdvolumes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/stackcache"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/offerings"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// baseStep manages the stack of the resources that the Cluster's instances share, and copies its
// outputs to the status.
type baseStep struct{ *operator }

// Name returns the step's name.
func (s baseStep) Name() string { return "base" }

// EnsureCreated moves the base stack toward the spec.
func (s baseStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	message := "The network, the load balancer and the other shared resources are ready."
	if model.UsesEKS(cluster) {
		message = "The network, the control plane of EKS and the roles are ready."
	}
	outcome := conditions.Conclude(
		cluster,
		conditions.Network,
		"StackReady",
		message,
		approval.WithCommand(cluster, "cluster", s.ensure(ctx, cluster)),
	)
	return s.upkeep(ctx, cluster, outcome)
}

func (s baseStep) ensure(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	name := model.BaseStackName(cluster.Name)
	s.own(cluster, name)
	release, err := s.objects.Release(ctx, cluster)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if err := s.outputs.Recover(ctx, cluster, release); err != nil {
		return outcomes.Failed(err)
	}
	key, digest := stackcache.Key{UID: cluster.UID, Stack: name}, s.models.Digest(cluster, release).Sum64()
	if s.stacks.IsSettled(key, digest, record.Find(cluster, name)) && len(cluster.Status.Outputs) > 0 && s.outputs.Hold(cluster) {
		return operatorkit.Done()
	}
	s.stacks.Unsettle(key)
	if outcome := s.keepsRestored(cluster); !outcome.IsDone() {
		return outcome
	}
	resolved, err := s.models.Resolve(ctx, cluster, release)
	if err != nil {
		return outcomes.Unresolved(err)
	}
	if outcome := resizable(cluster, resolved); !outcome.IsDone() {
		return outcome
	}
	wanted, err := s.stacks.RenderBase(key, digest, func() (*render.Stack, error) { return render.Base(resolved) })
	if err != nil {
		return operatorkit.Stall("InvalidTemplate", fmt.Sprintf("The base stack cannot be rendered: %s.", err))
	}
	if outcome := s.placeVolumes(ctx, cluster, resolved, wanted); !outcome.IsDone() {
		return outcome
	}
	gone, err := s.goneVolumes(ctx, cluster, resolved)
	if err != nil {
		return outcomes.Failed(err)
	}
	before := operatorkit.Done()
	outputs, outcome := s.apply.Ensure(ctx, cluster, s.targets.Of(cluster), record.FindOrAdd(cluster, name), wanted, apply.Options{
		Manual:  approval.IsManual(cluster.Spec.UpdatePolicy),
		Refresh: !s.outputs.Hold(cluster),
		Gone:    gone,
		Limit:   s.targets.Limit(cluster),
		Prepare: func(ctx context.Context, known *record.Stack) error {
			if before = s.offered(ctx, cluster, known, offerings.OfCluster(resolved)); !before.IsDone() {
				return errNotPrepared
			}
			if before = s.prepareRestore(ctx, cluster, resolved, known); !before.IsDone() {
				return errNotPrepared
			}
			return nil
		},
	})
	if !before.IsDone() {
		return before
	}
	s.saw(cluster, record.FindOrAdd(cluster, name), outputs)
	if outcome.IsDone() {
		if err := s.restored(cluster, resolved.ControlPlaneArchitecture); err != nil {
			return operatorkit.Fail(err)
		}
		forgetLeft(cluster, resolved)
		if isSettling(cluster) {
			return settling()
		}
		s.stacks.Settle(key, s.models.Digest(cluster, release).Sum64(), record.Find(cluster, name))
	}
	return outcome
}

// goneVolumes returns the logical IDs of etcd volumes that the base stack may lose: those that no longer exist, those of
// slots that have left etcd, and those in zones that slots have left.
func (s baseStep) goneVolumes(ctx context.Context, cluster *v1alpha1.Cluster, resolved *model.Cluster) ([]string, error) {
	lost, err := s.volumes.Lost(ctx, cluster, resolved)
	if err != nil {
		return nil, err //nolint:wrapcheck // It names the volumes.
	}
	removed, err := s.removedVolumes(ctx, cluster, resolved)
	if err != nil {
		return nil, err
	}
	return slices.Concat(lost, removed, etcdvolumes.Left(cluster, resolved)), nil
}

// saw records what the base stack says of the slots: its outputs, if they were read, and that no slot exists while it is
// created.
func (s baseStep) saw(cluster *v1alpha1.Cluster, base *v1alpha1.StackStatus, outputs map[string]string) {
	if outputs != nil {
		cluster.Status.Outputs = outputs
		s.outputs.Saw(cluster, outputs)
	}
	if base.Status == record.StatusCreating {
		for slot := range int(cluster.Spec.ControlPlane.Slots()) {
			s.stacks.MarkAbsent(stackcache.Key{UID: cluster.UID, Stack: model.SlotStackName(cluster.Name, slot)})
		}
	}
	forgetSlots(cluster)
}

// EnsureDeleted deletes the base stack.
func (s baseStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if cluster.Status.Account == "" {
		return operatorkit.Done()
	}
	name := model.BaseStackName(cluster.Name)
	s.own(cluster, name)
	s.stacks.Unsettle(stackcache.Key{UID: cluster.UID, Stack: name})
	return s.apply.Delete(ctx, cluster, s.targets.Of(cluster), name, record.Find(cluster, name), stack.DeleteOptions{
		RoleARN:                      s.targets.ServiceRole(cluster),
		OwnerTags:                    s.owner.ClusterTags(cluster),
		DisableTerminationProtection: true, // The finalizer guards the Cluster; deleting the Cluster is intentional.
		Clean: func(ctx context.Context, failure stack.ResourceFailure) error {
			if failure.Type != "AWS::S3::Bucket" {
				return nil
			}
			return s.bucket.Empty(ctx, cluster, failure.PhysicalID)
		},
	})
}

// own records that a stack belongs to the Cluster, so that events of it are matched.
func (o *operator) own(cluster *v1alpha1.Cluster, name string) {
	stack := directory.Stack{Account: cluster.Status.Account, Region: cluster.Spec.Region, Name: name}
	o.directory.Own(stack, directory.Owner{Key: keyOf(cluster), UID: cluster.UID})
}
