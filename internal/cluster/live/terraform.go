package live

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// MadeByTerraform reports whether AWS has instances of a cluster that no CloudFormation stack owns,
// because Terraform made them. It calls AWS only if no stack of the cluster is known, and returns
// an error when that call fails. It reports false for a cluster whose control plane EKS runs, since the tags
// of node groups do not say who made them.
func MadeByTerraform(ctx context.Context, clients Clients, cluster *v1alpha1.Cluster) (bool, error) {
	if len(cluster.Status.Stacks) > 0 || model.UsesEKS(cluster) {
		return false, nil
	}
	found, err := Find(ctx, clients, cluster)
	if err != nil {
		return false, fmt.Errorf("list the instances of cluster %s: %w", cluster.Name, err)
	}
	return slices.ContainsFunc(found.Groups, func(g Group) bool { return g.Stack == "" }), nil
}
