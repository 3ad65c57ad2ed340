package controller

import (
	"context"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/drift"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// driftStep checks the Cluster's own stacks for drift. It runs after the steps that bring them up to
// date, and before those that wait for nodes: what another client changed may be why these wait.
type driftStep struct{ *operator }

// Name returns the step's name.
func (s driftStep) Name() string { return "drift" }

// EnsureCreated advances the checks.
func (s driftStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	base, err := s.owner.Base(cluster)
	if err != nil {
		return operatorkit.Fail(err)
	}
	var checked []drift.Stack
	if status := record.Find(cluster, base.Name); status != nil {
		known, err := record.Decode(status)
		if err != nil {
			return operatorkit.Fail(err)
		}
		checked = append(checked, drift.Stack{
			Owner: base, Changed: known.Changed, Status: status, Deployed: s.deployed(ctx, cluster, render.Base),
		})
	}
	for slot := range int(cluster.Spec.ControlPlane.Slots()) {
		status := record.Find(cluster, model.SlotStackName(cluster.Name, slot))
		if status == nil {
			continue
		}
		known, err := record.Decode(status)
		if err != nil {
			return operatorkit.Fail(err)
		}
		made := func(resolved *model.Cluster) (*render.Stack, error) {
			return stackOf(stacks.Slot(resolved, slot, cluster.Status.Outputs, &known, s.bucket.NodeupHash))
		}
		checked = append(checked, drift.Stack{
			Owner: s.owner.Slot(cluster, slot, &known), Changed: known.Changed, Status: status, Deployed: s.deployed(ctx, cluster, made),
		})
	}
	if status := record.Find(cluster, model.EKSAddonsStackName(cluster.Name)); status != nil && model.WantsEKSAddons(cluster) {
		known, err := record.Decode(status)
		if err != nil {
			return operatorkit.Fail(err)
		}
		checked = append(checked, drift.Stack{
			Owner: s.owner.EKSAddons(cluster, &known), Changed: known.Changed, Status: status,
			Deployed: s.deployed(ctx, cluster, render.EKSAddons),
		})
	}
	return s.drifts.Ensure(ctx, cluster, s.targets.Of(cluster), checked)
}

// EnsureDeleted removes the condition. CloudFormation ends a running detection.
func (s driftStep) EnsureDeleted(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	operatorkit.RemoveCondition(cluster, conditions.Drifted)
	return operatorkit.Done()
}

// deployed returns a function that returns the template and the parameters of a stack that is up to date.
func (o *operator) deployed(
	ctx context.Context, cluster *v1alpha1.Cluster, made func(*model.Cluster) (*render.Stack, error),
) func() (*template.Template, map[string]string, error) {
	return func() (*template.Template, map[string]string, error) {
		release, err := o.objects.Release(ctx, cluster)
		if err != nil {
			return nil, nil, err //nolint:wrapcheck // of the same module
		}
		cas, err := o.credentials.EnsureCAs(ctx, cluster)
		if err != nil {
			return nil, nil, err //nolint:wrapcheck // of the same module
		}
		resolved, err := o.resolve(ctx, cluster, release, cas.Keys)
		if err != nil {
			return nil, nil, err
		}
		found, err := made(resolved)
		if err != nil {
			return nil, nil, err
		}
		return found.Template, found.Parameters, nil
	}
}

func stackOf(made *stacks.Made, err error) (*render.Stack, error) {
	if err != nil {
		return nil, err
	}
	return made.Stack, nil
}
