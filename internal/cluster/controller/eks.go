package controller

import (
	"context"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// eksClusterSteps returns the steps that create a Cluster whose control plane EKS runs, in order.
// Deletion runs them in reverse.
func (o *operator) eksClusterSteps() []operatorkit.Step[*v1alpha1.Cluster] {
	steps := []operatorkit.Step[*v1alpha1.Cluster]{
		accountStep{o},
		unlessAbandoned{networkStep{o}},
		unlessAbandoned{o.sweep()},
		upgradeStep{o},
		unlessAbandoned{baseStep{o}},
		unlessAbandoned{o.cleanupAfterNodes()},
		driftStep{o},
		eksAPIStep{o},
		unlessAbandoned{eksAddonsStep{o}},
		groupsStep{o},
		unlessAbandoned{o.cleanupBeforeNodes()},
		eksNodesStep{o},
	}
	if o.options.Addons != nil {
		steps = append(steps, addonsStep{o})
	}
	return append(steps, eksReadyStep{o})
}

// eksGroupSteps returns the steps that create an InstanceGroup of such a Cluster, in order. Deletion
// runs them in reverse.
func (o *operator) eksGroupSteps() []operatorkit.Step[*v1alpha1.InstanceGroup] {
	return []operatorkit.Step[*v1alpha1.InstanceGroup]{
		groupClusterAPIStep{o},
		groupClusterStep{o},
		eksGroupStackStep{o},
		groupDriftStep{o},
		eksGroupNodesStep{o},
	}
}

// eksSelfManagedSteps returns the steps that create a self-managed InstanceGroup of such a Cluster, in order. They are
// those of other clusters, whose instances the operator replaces, drains and repairs, too.
func (o *operator) eksSelfManagedSteps() []operatorkit.Step[*v1alpha1.InstanceGroup] {
	return []operatorkit.Step[*v1alpha1.InstanceGroup]{
		groupClusterStep{o},
		groupStackStep{o},
		groupRollStep{o},
		groupDriftStep{o},
		groupNodesStep{o},
		groupDrainsStep{o},
	}
}

// groupSelector selects an InstanceGroup's pipeline by who runs the control plane of its Cluster, and who manages its
// instances.
type groupSelector struct {
	operator                *operator
	slots, eks, selfManaged *operatorkit.Pipeline[*v1alpha1.InstanceGroup]
}

func newGroupSelector(o *operator) *groupSelector {
	return &groupSelector{
		operator: o, slots: operatorkit.NewPipeline(o.groupSteps()...), eks: operatorkit.NewPipeline(o.eksGroupSteps()...),
		selfManaged: operatorkit.NewPipeline(o.eksSelfManagedSteps()...),
	}
}

// PipelineFor returns the group's pipeline. Without the Cluster, that of slots waits for it, and deletes the stack of either.
func (s *groupSelector) PipelineFor(group *v1alpha1.InstanceGroup) (*operatorkit.Pipeline[*v1alpha1.InstanceGroup], error) {
	cluster, err := s.operator.objects.ClusterOf(context.Background(), group) // Reads from the informer cache.
	if err != nil {
		return nil, err //nolint:wrapcheck // of the same module
	}
	switch {
	case !model.UsesEKS(cluster):
		return s.slots, nil
	case model.IsSelfManaged(&group.Spec):
		return s.selfManaged, nil
	default:
		return s.eks, nil
	}
}
