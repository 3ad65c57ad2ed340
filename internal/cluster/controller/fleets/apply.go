package fleets

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/fleet"
)

// selector selects Clusters by their labels.
type selector = labels.Selector

// applyAll applies the template to a Cluster and then to its InstanceGroups. It reports whether the API server did all of
// it: it does not if one of them is no longer as the decision saw it.
func (r *run) applyAll(ctx context.Context, cluster *v1alpha1.Cluster) (changed bool, err error) {
	for _, one := range r.objectsOf(cluster) {
		if changed, err = r.applyTo(ctx, one); err != nil || !changed {
			return false, err
		}
	}
	return true, nil
}

// objectsOf returns a Cluster and its InstanceGroups, without those that are being deleted.
func (r *run) objectsOf(cluster *v1alpha1.Cluster) []client.Object {
	objects := []client.Object{cluster}
	for _, group := range r.groups[cluster.Name] {
		if group.DeletionTimestamp.IsZero() {
			objects = append(objects, group)
		}
	}
	return objects
}

// applyTo applies the template to a Cluster or an InstanceGroup, without the fields that others own. It reports whether
// the API server did that, or had nothing to do.
func (r *run) applyTo(ctx context.Context, object client.Object) (changed bool, err error) {
	known := r.memory.objects[object.GetUID()]
	if !known.compared.Outdated && !known.compared.Unclaimed {
		return true, nil
	}
	kind := fleet.KindOf(object)
	configuration := &unstructured.Unstructured{Object: map[string]any{}}
	if spec := r.template.Without(object, known.compared.Overridden); len(spec) > 0 {
		configuration.Object["spec"] = spec
	}
	configuration.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	configuration.SetNamespace(object.GetNamespace())
	configuration.SetName(object.GetName())
	configuration.SetUID(object.GetUID())
	configuration.SetResourceVersion(object.GetResourceVersion())
	options := []client.ApplyOption{client.FieldOwner(fleet.Manager(r.fleet.Name))}
	if known.compared.Yielded { // All other fields of others are not in the configuration.
		options = append(options, client.ForceOwnership)
	}
	err = r.options.Direct.Apply(ctx, client.ApplyConfigurationFromUnstructured(configuration), options...)
	switch {
	case err == nil:
		compared := *known.compared
		compared.Unclaimed = false
		known.applied, known.compared = configuration.GetGeneration(), &compared
		return true, nil
	case apierrors.IsConflict(err):
		if fields := conflicts(err); len(fields) > 0 {
			known.conflicts, known.compared = append(known.conflicts, fields...), nil
		}
		return false, nil
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err):
		known.refused, known.at = fmt.Sprintf("The API server refuses the template: %s.", strings.TrimSuffix(err.Error(), ".")), r.now
		return false, nil
	}
	return false, fmt.Errorf("apply the template to %s %s: %w", kind, object.GetName(), err)
}

// conflicts returns the fields that another field manager owns.
func conflicts(err error) []string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.ErrStatus.Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.ErrStatus.Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}
