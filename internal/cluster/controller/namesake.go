package controller

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// namesakeAgain is when to look again whether a group that is being deleted has freed its stack's name.
const namesakeAgain = awaitAgain / 12

// namesake returns the Cluster's other InstanceGroup whose stack has the same name, nil if there is
// none: groups workers and demo-workers of a Cluster demo would both be the stack demo-workers.
func (o *operator) namesake(ctx context.Context, group *v1alpha1.InstanceGroup) (*v1alpha1.InstanceGroup, error) {
	prefix := group.Spec.Cluster + "-"
	name, cut := strings.CutPrefix(group.Name, prefix)
	if !cut {
		name = prefix + group.Name
	}
	other := &v1alpha1.InstanceGroup{}
	err := o.client.Get(ctx, types.NamespacedName{Namespace: group.Namespace, Name: name}, other)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // that there is none is an answer
	}
	if err != nil {
		return nil, fmt.Errorf("read instance group %s: %w", name, err)
	}
	if other.Spec.Cluster != group.Spec.Cluster || model.GroupStackName(other.Spec.Cluster, other.Name) != model.GroupStackName(group.Spec.Cluster, group.Name) {
		return nil, nil //nolint:nilnil // as above
	}
	return other, nil
}

// nameIsFree refuses a group whose stack's name is that of an older one's.
func (s groupStackStep) nameIsFree(ctx context.Context, group *v1alpha1.InstanceGroup) operatorkit.Outcome {
	other, err := s.namesake(ctx, group)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if other == nil || !goesFirst(other, group) {
		return operatorkit.Done()
	}
	name := model.GroupStackName(group.Spec.Cluster, group.Name)
	if !other.DeletionTimestamp.IsZero() {
		return operatorkit.Wait(namesakeAgain, "StackNameTaken", fmt.Sprintf(
			"The stack %s is still that of instance group %s, which is being deleted.", name, other.Name))
	}
	return operatorkit.Stall("StackNameTaken", fmt.Sprintf(
		"The stack of this instance group would be named %s, as that of instance group %s is. Make a group of another name, and delete this one.", name, other.Name))
}

// goesFirst reports whether the stack's name is a's rather than b's.
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
	known, err := recall(group.Status.Stack)
	return err == nil && known.StackID != ""
}

// wakeNamesake has a group looked at that waits for this one's name.
func (o *operator) wakeNamesake(ctx context.Context, group *v1alpha1.InstanceGroup) {
	if other, err := o.namesake(ctx, group); err == nil && other != nil {
		o.groups.Enqueue(keyOf(other))
	}
}
