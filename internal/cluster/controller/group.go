package controller

import (
	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// groupSteps returns the steps that create an InstanceGroup, in order. Deletion runs them in
// reverse.
func (o *operator) groupSteps() []operatorkit.Step[*v1alpha1.InstanceGroup] {
	return []operatorkit.Step[*v1alpha1.InstanceGroup]{
		groupClusterAPIStep{o},
		groupClusterStep{o},
		groupStackStep{o},
		groupNodeClassStep{o},
		groupRollStep{o},
		groupDriftStep{o},
		groupNodesStep{o},
		groupDrainsStep{o},
	}
}
