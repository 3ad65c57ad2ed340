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

// applyTo applies the template to a Cluster, without the fields that others own. It reports whether the
// API server did that: it does not if the Cluster is no longer as the decision saw it.
func (r *run) applyTo(ctx context.Context, cluster *v1alpha1.Cluster) (changed bool, err error) {
	known := r.memory.clusters[cluster.UID]
	configuration := &unstructured.Unstructured{Object: map[string]any{"spec": r.template.Without(known.compared.Overridden)}}
	configuration.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Cluster"))
	configuration.SetNamespace(cluster.Namespace)
	configuration.SetName(cluster.Name)
	configuration.SetUID(cluster.UID)
	configuration.SetResourceVersion(cluster.ResourceVersion)
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
	return false, fmt.Errorf("apply the template to Cluster %s: %w", cluster.Name, err)
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
