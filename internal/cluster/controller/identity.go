package controller

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	identityv1alpha1 "github.com/aws-operator/aws-operator/api/identity/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/targets"
	"github.com/aws-operator/aws-operator/internal/identity"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// admit refuses a Cluster that the operator may not act for before it gets a finalizer. Of others it
// notes the account and region.
func (o *operator) admit(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if cluster.Spec.Release == "" {
		return operatorkit.Wait(0, "ReleaseMissing", "The cluster has no release. Set spec.release, or create a Fleet that selects the cluster and sets it.")
	}
	use, err := o.targets.Use(cluster)
	if err != nil {
		return identity.Outcome(err)
	}
	use.Note(cluster)
	return operatorkit.Done()
}

// admitGroup refuses a group of a Cluster that the operator may not act for, as admit does.
func (o *operator) admitGroup(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	cluster, err := o.objects.ClusterOf(ctx, group)
	switch {
	case err != nil:
		return operatorkit.Fail(err)
	case cluster == nil:
		return operatorkit.Done() // the first step reports that
	default:
		return o.targets.MayUse(cluster)
	}
}

// isWhereItWas is done if the operator may act for the Cluster, and in the account and region that
// admit noted.
func (o *operator) isWhereItWas(cluster *v1alpha1.Cluster) operatorkit.Outcome {
	use, err := o.targets.Use(cluster)
	if err != nil {
		return identity.Outcome(err)
	}
	was := cluster.Annotations[identityv1alpha1.CreatedInAnnotation]
	if was == "" || was == use.Place.String() {
		return operatorkit.Done()
	}
	return operatorkit.Stall("AccountChanged", fmt.Sprintf(
		"The Cluster's stacks are in %s, but %s is for %s. A Cluster cannot move: restore the previous role, identity or credentials. "+
			"If nothing of the Cluster is in %[1]s, remove its annotation %[4]s.", was, credentialsOf(cluster), use.Place, identityv1alpha1.CreatedInAnnotation))
}

// identityChanged enqueues the Clusters that a change of an identity or a Namespace may concern, and
// their groups.
func (o *operator) identityChanged(ctx context.Context, change identity.Change) {
	clusters, err := o.concerned(ctx, o.client, change)
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

// usersOf lists the Clusters that use an identity, of all shards.
func (o *operator) usersOf(ctx context.Context, name string) ([]string, error) {
	clusters, err := o.concerned(ctx, o.direct, identity.Change{Identity: name})
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
func (o *operator) concerned(ctx context.Context, from client.Reader, change identity.Change) ([]v1alpha1.Cluster, error) {
	var clusters v1alpha1.ClusterList
	if err := from.List(ctx, &clusters); err != nil {
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
