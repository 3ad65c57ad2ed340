package objects

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Indexes of the cache.
const (
	IndexCluster = "spec.cluster" // of InstanceGroups
	IndexRelease = "spec.release" // of Clusters
)

// Objects reads objects from the informer cache.
type Objects struct{ client client.Reader }

// New reads objects with a client of the informer cache.
func New(client client.Reader) *Objects { return &Objects{client: client} }

// Release returns the Cluster's Release. The informer cache owns it, so callers must not change it;
// copying would be expensive since every reconcile reads it many times.
func (o *Objects) Release(ctx context.Context, cluster *v1alpha1.Cluster) (*v1alpha1.Release, error) {
	return o.ReleaseNamed(ctx, cluster.Spec.Release)
}

// ReleaseNamed returns the Release of that name. The informer cache owns it; callers must not
// change it.
func (o *Objects) ReleaseNamed(ctx context.Context, name string) (*v1alpha1.Release, error) {
	found := &v1alpha1.Release{}
	if err := o.client.Get(ctx, types.NamespacedName{Name: name}, found, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("read Release %s: %w", name, err)
	}
	return found, nil
}

// ReleaseNames returns the sorted names of the existing Releases.
func (o *Objects) ReleaseNames(ctx context.Context) []string {
	list := &v1alpha1.ReleaseList{}
	if err := o.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil { // Reads from the informer cache.
		return nil
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	slices.Sort(names) // The cache returns them in random order.
	return names
}

// GroupsOf returns the InstanceGroups of the Cluster. The informer cache owns them; callers must
// not change them.
func (o *Objects) GroupsOf(ctx context.Context, key types.NamespacedName) ([]v1alpha1.InstanceGroup, error) {
	list := &v1alpha1.InstanceGroupList{}
	its := client.MatchingFields{IndexCluster: key.Name}
	if err := o.client.List(ctx, list, client.InNamespace(key.Namespace), its, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the instance groups of cluster %s: %w", key, err)
	}
	return list.Items, nil
}

// ClusterOf returns the InstanceGroup's Cluster, nil if there is none.
func (o *Objects) ClusterOf(ctx context.Context, group *v1alpha1.InstanceGroup) (*v1alpha1.Cluster, error) {
	cluster := &v1alpha1.Cluster{}
	key := types.NamespacedName{Namespace: group.Namespace, Name: group.Spec.Cluster}
	switch err := o.client.Get(ctx, key, cluster); {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // nil means that it does not exist
	case err != nil:
		return nil, fmt.Errorf("read Cluster %s: %w", key, err)
	default:
		return cluster, nil
	}
}

// AddIndexes adds the indexes that [Objects] needs to the cache.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &v1alpha1.InstanceGroup{}, IndexCluster, func(obj client.Object) []string {
		group, ok := obj.(*v1alpha1.InstanceGroup)
		if !ok {
			return nil
		}
		return []string{group.Spec.Cluster}
	})
	if err != nil {
		return fmt.Errorf("index instance groups by cluster: %w", err)
	}
	err = indexer.IndexField(ctx, &v1alpha1.Cluster{}, IndexRelease, func(obj client.Object) []string {
		cluster, ok := obj.(*v1alpha1.Cluster)
		if !ok {
			return nil
		}
		return []string{cluster.Spec.Release}
	})
	if err != nil {
		return fmt.Errorf("index clusters by release: %w", err)
	}
	return nil
}
