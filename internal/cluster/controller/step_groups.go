package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// groupsStep deletes the Cluster's InstanceGroups before the Cluster, since their instances are in
// its network.
type groupsStep struct{ *operator }

// Name returns the step's name.
func (s groupsStep) Name() string { return "groups" }

// EnsureCreated has nothing to do: InstanceGroups have their own controller.
func (s groupsStep) EnsureCreated(context.Context, *v1alpha1.Cluster) operatorkit.Outcome {
	return operatorkit.Done()
}

// EnsureDeleted deletes the InstanceGroups and waits until they no longer exist.
func (s groupsStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	groups, err := s.objects.GroupsOf(ctx, keyOf(cluster))
	if err != nil {
		return operatorkit.Fail(err)
	}
	var names []string
	for i := range groups {
		group := &groups[i]
		names = append(names, group.Name)
		if operatorkit.HasPausedAnnotation(group, v1alpha1.PausedAnnotation) {
			names[len(names)-1] += " (it is paused: remove its annotation " + v1alpha1.PausedAnnotation + ")"
		}
		if !group.DeletionTimestamp.IsZero() {
			continue
		}
		err := s.client.Delete(ctx, group, client.Preconditions{UID: &group.UID})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return operatorkit.Fail(fmt.Errorf("delete instance group %s: %w", group.Name, err))
		}
	}
	if len(names) > 0 {
		slices.Sort(names) // The cache returns them in random order.
		return operatorkit.Wait(
			outcomes.EventPoll,
			"DeletingInstanceGroups",
			"Deleting the Cluster's instance groups first: "+strings.Join(names, ", ")+".",
		)
	}
	return operatorkit.Done()
}
