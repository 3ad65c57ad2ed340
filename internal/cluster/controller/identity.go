package controller

import (
	"context"
	"fmt"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/targets"
	"github.com/aws-operator/aws-operator/internal/identity"
)

// identityChanged enqueues the Clusters that a change of an identity or a Namespace may concern, and
// their groups.
func (o *operator) identityChanged(change identity.Change) {
	ctx := context.Background() // reads from the cache
	clusters, err := o.concerned(ctx, change)
	if err != nil {
		return // the cache is not filled yet, so every Cluster is going to be reconciled
	}
	for i := range clusters {
		key := keyOf(&clusters[i])
		o.clusters.Enqueue(key)
		groups, err := o.objects.GroupsOf(ctx, key)
		if err != nil {
			continue // as above
		}
		for j := range groups {
			o.groups.Enqueue(keyOf(&groups[j]))
		}
	}
}

// usersOf lists the Clusters that use an identity.
func (o *operator) usersOf(ctx context.Context, name string) ([]string, error) {
	clusters, err := o.concerned(ctx, identity.Change{Identity: name})
	if err != nil {
		return nil, err
	}
	var users []string
	for i := range clusters {
		users = append(users, fmt.Sprintf("Cluster %s/%s", clusters[i].Namespace, clusters[i].Name))
	}
	return users, nil
}

// concerned lists the Clusters that a change may concern.
func (o *operator) concerned(ctx context.Context, change identity.Change) ([]v1alpha1.Cluster, error) {
	var clusters v1alpha1.ClusterList
	if err := o.client.List(ctx, &clusters); err != nil {
		return nil, fmt.Errorf("list Clusters: %w", err)
	}
	var found []v1alpha1.Cluster
	for i := range clusters.Items {
		one := &clusters.Items[i]
		if one.Spec.Role == nil && o.options.Identities.Concerns(ctx, change, targets.Wish(one)) {
			found = append(found, *one)
		}
	}
	return found, nil
}
