package controller

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// nameConflictPoll is the delay between checks whether a group that is being deleted has freed its
// stack's name.
const nameConflictPoll = outcomes.EventPoll / 12

// nameConflict returns the Cluster's other InstanceGroup with the same stack name, nil if there is
// none. For example, groups workers and demo-workers of a Cluster demo would both have the stack
// demo-workers.
func (o *operator) nameConflict(ctx context.Context, group *v1alpha1.InstanceGroup) (*v1alpha1.InstanceGroup, error) {
	prefix := group.Spec.Cluster + "-"
	name, cut := strings.CutPrefix(group.Name, prefix)
	if !cut {
		name = prefix + group.Name
	}
	other := &v1alpha1.InstanceGroup{}
	err := o.client.Get(ctx, types.NamespacedName{Namespace: group.Namespace, Name: name}, other)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // nil means that there is none
	}
	if err != nil {
		return nil, fmt.Errorf("read instance group %s: %w", name, err)
	}
	if other.Spec.Cluster != group.Spec.Cluster ||
		model.GroupStackName(other.Spec.Cluster, other.Name) != model.GroupStackName(group.Spec.Cluster, group.Name) {
		return nil, nil //nolint:nilnil // as above
	}
	return other, nil
}

// nameIsFree rejects a group whose stack name an older group has.
func (s groupStackStep) nameIsFree(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	other, err := s.nameConflict(ctx, group)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if other == nil || !goesFirst(other, group) {
		return operatorkit.Done()
	}
	name := model.GroupStackName(group.Spec.Cluster, group.Name)
	if !other.DeletionTimestamp.IsZero() {
		return operatorkit.Wait(nameConflictPoll, "StackNameTaken", fmt.Sprintf(
			"The stack %s still belongs to instance group %s, which is being deleted.", name, other.Name))
	}
	return operatorkit.Stall("StackNameTaken", fmt.Sprintf(
		"The stack of this instance group would be named %s, like that of instance group %s. Create a group with another name, and delete this one.",
		name,
		other.Name,
	))
}

// goesFirst reports whether a takes precedence over b for the stack's name.
func goesFirst(a, b *v1alpha1.InstanceGroup) bool {
	if hasStack(a) != hasStack(b) {
		return hasStack(a)
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}

func hasStack(group *v1alpha1.InstanceGroup) bool {
	known, err := record.Decode(group.Status.Stack)
	return err == nil && known.StackID != ""
}

// enqueueNameConflict enqueues the group that waits for this one's name.
func (o *operator) enqueueNameConflict(ctx context.Context, group *v1alpha1.InstanceGroup) {
	if other, err := o.nameConflict(ctx, group); err == nil && other != nil {
		o.groups.Enqueue(keyOf(other))
	}
}
