package controller

import (
	"context"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/drift"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/models"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/render"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// groupDriftStep checks the group's stack for drift. It runs when no instances are being replaced: that
// changes the size of the group.
type groupDriftStep struct{ *operator }

// Name returns the step's name.
func (s groupDriftStep) Name() string { return "drift" }

// EnsureCreated advances the check.
func (s groupDriftStep) EnsureCreated(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	cluster, err := s.objects.ClusterOf(ctx, group)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if cluster == nil || group.Status.Stack == nil {
		return operatorkit.Done()
	}
	known, err := record.Decode(group.Status.Stack)
	if err != nil {
		return operatorkit.Fail(err)
	}
	made := func(resolved *model.Cluster) (*render.Stack, error) {
		shape, err := model.ResolveGroup(resolved, group)
		if err != nil {
			return nil, err //nolint:wrapcheck // of the same module
		}
		cas, err := s.credentials.EnsureCAs(ctx, cluster)
		if err != nil {
			return nil, err //nolint:wrapcheck // of the same module
		}
		return stackOf(stacks.Group(resolved, shape, cluster.Status.Outputs, cas.Certificate, &known, s.bucket.NodeupHash))
	}
	return s.drifts.Ensure(ctx, group, s.targets.Of(cluster), []drift.Stack{{
		Owner: s.owner.Group(group, &known), Changed: known.Changed, Status: group.Status.Stack,
		Deployed: s.deployed(ctx, models.AsRun(cluster), made),
	}})
}

// EnsureDeleted removes the condition. CloudFormation ends a running detection.
func (s groupDriftStep) EnsureDeleted(_ context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	operatorkit.RemoveCondition(group, conditions.Drifted)
	return operatorkit.Done()
}
