package controller

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/credentials"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/models"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/nodeclass"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// groupNodeClassStep keeps the EC2NodeClass of a group whose nodes Karpenter creates. It runs when the
// group's stack is as desired, so the bundle of its user data is in the bucket. It never makes a group wait.
type groupNodeClassStep struct{ *operator }

// nodeClassApplied is what was last applied for a group, and when that is due again.
type nodeClassApplied struct {
	inputs uint64
	next   time.Time
}

// Name returns the step's name.
func (s groupNodeClassStep) Name() string { return "node-class" }

// EnsureCreated applies the EC2NodeClass if it changed, or if that is due.
func (s groupNodeClassStep) EnsureCreated(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	if !model.IsManagedByKarpenter(&group.Spec) {
		return operatorkit.Done()
	}
	connection := s.options.Workload.Get(clusterKeyOf(group))
	if connection == nil {
		return operatorkit.Done().RequeueAfter(nodeclass.Soon)
	}
	if reachable, _ := connection.Reachable(); !reachable { // The condition APIReachable of the Cluster reports it.
		return operatorkit.Done().RequeueAfter(nodeclass.Soon)
	}
	from, err := s.sources(ctx, group)
	if err != nil {
		return outcomes.Failed(err)
	}
	inputs := groupStackStep(s).inputs(group, from.cluster, from.release, &from.cas)
	now := s.options.Clock.Now()
	last, ok := s.nodeClasses.Get(group.UID)
	shown := operatorkit.FindCondition(group, conditions.NodeClass) != nil
	if !ok || !shown || last.inputs != inputs || !last.next.After(now) {
		spec, err := s.spec(ctx, group, from)
		if err != nil {
			return notMade("instance group "+group.Name, err)
		}
		is := nodeclass.Apply(ctx, connection.Config(), group, spec)
		operatorkit.SetCondition(group, is)
		last = nodeClassApplied{inputs: inputs, next: now.Add(nodeclass.Again)}
		if is.Status != metav1.ConditionTrue {
			last.next = now.Add(nodeclass.Soon)
		}
		s.nodeClasses.Keep(group.UID, last)
	}
	return operatorkit.Done().RequeueAfter(last.next.Sub(now))
}

// nodeClassSources are what an EC2NodeClass depends on, besides its group.
type nodeClassSources struct {
	cluster *v1alpha1.Cluster // as its control plane runs
	release *v1alpha1.Release
	cas     credentials.CAs
}

// sources returns what the group's EC2NodeClass depends on.
func (s groupNodeClassStep) sources(ctx context.Context, group *v1alpha1.InstanceGroup) (from nodeClassSources, err error) {
	cluster, err := s.objects.ClusterOf(ctx, group)
	if err != nil {
		return from, err //nolint:wrapcheck // it says what it is about
	}
	if cluster == nil {
		return from, errNotPrepared
	}
	from.cluster = models.AsRun(cluster)
	if from.release, err = s.objects.Release(ctx, from.cluster); err != nil {
		return from, err //nolint:wrapcheck // it says what it is about
	}
	from.cas, err = s.credentials.EnsureCAs(ctx, from.cluster)
	return from, err //nolint:wrapcheck // it says what it is about
}

// spec returns the spec of the group's EC2NodeClass.
func (s groupNodeClassStep) spec(ctx context.Context, group *v1alpha1.InstanceGroup, from nodeClassSources) (map[string]any, error) {
	if err := s.outputs.Confirm(ctx, from.cluster); err != nil {
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	resolved, err := s.models.Resolve(ctx, from.cluster, from.release)
	if err != nil {
		return nil, err //nolint:wrapcheck // callers tell problems from failures
	}
	shape, err := model.ResolveGroup(resolved, group)
	if err != nil {
		return nil, err //nolint:wrapcheck // callers tell problems from failures
	}
	known, err := record.Decode(group.Status.Stack)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	made, err := stacks.Group(resolved, shape, from.cluster.Status.Outputs, from.cas.Certificate, &known, s.bucket.NodeupHash)
	if err != nil {
		return nil, err //nolint:wrapcheck // callers tell its kinds apart
	}
	return made.NodeClass, nil
}

// EnsureDeleted deletes the EC2NodeClass, unless the whole cluster is deleted. Karpenter ends its nodes
// then, which the group does not wait for.
func (s groupNodeClassStep) EnsureDeleted(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	operatorkit.RemoveCondition(group, conditions.NodeClass)
	s.nodeClasses.Drop(group.UID)
	if !model.IsManagedByKarpenter(&group.Spec) {
		return operatorkit.Done()
	}
	cluster, err := s.objects.ClusterOf(ctx, group)
	if err != nil {
		return operatorkit.Fail(err)
	}
	connection := s.options.Workload.Get(clusterKeyOf(group))
	if cluster == nil || !cluster.DeletionTimestamp.IsZero() || connection == nil {
		return operatorkit.Done()
	}
	if err := nodeclass.Delete(ctx, connection.Config(), group); err != nil {
		log.FromContext(ctx).Info("The EC2NodeClass of the group remains", "error", err.Error())
	}
	return operatorkit.Done()
}
