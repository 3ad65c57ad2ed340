package converge

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
)

// ByOthers reports whether AWS has instances of a cluster that no CloudFormation stack owns,
// because Terraform made them. It calls AWS only if no stack of the cluster is known, and returns
// an error when that call fails.
func ByOthers(ctx context.Context, clients *awsapi.Clients, cluster *v1alpha1.Cluster) (bool, error) {
	if len(cluster.Status.Stacks) > 0 {
		return false, nil
	}
	found, err := live.Find(ctx, clients, cluster)
	if err != nil {
		return false, fmt.Errorf("list the instances of cluster %s: %w", cluster.Name, err)
	}
	return slices.ContainsFunc(found.Groups, func(g live.Group) bool { return g.Stack == "" }), nil
}
