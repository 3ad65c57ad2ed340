package nodeclass

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

const (
	// Again is when to apply an unchanged NodeClass again, which undoes changes by others.
	Again = 10 * time.Minute
	// Soon is when to try again what failed.
	Soon = time.Minute

	fieldManager = "aws-operator"
	callTimeout  = 10 * time.Second
)

// Reasons of the condition NodeClassApplied.
const (
	reasonApplied      = "Applied"
	reasonNotInstalled = "KarpenterNotInstalled"
	reasonForeign      = "NodeClassExists"
	reasonRefused      = "NodeClassRefused"
)

// resource is that of EC2NodeClasses.
var resource = schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"}

// Apply gives the cluster behind a configuration the NodeClass of a group, with a spec, and returns the
// condition NodeClassApplied. It changes no NodeClass of that name that is not the group's.
func Apply(ctx context.Context, config *rest.Config, group *v1alpha1.InstanceGroup, spec map[string]any) metav1.Condition {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return condition(reasonRefused, "The EC2NodeClass cannot be applied: %v.", err)
	}
	classes := client.Resource(resource)
	found, err := classes.Get(ctx, group.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return condition(reasonRefused, "The EC2NodeClass cannot be read: %v.", err)
	case found.GetLabels()[model.TagInstanceGroup] != group.Name:
		return condition(reasonForeign, "There is another EC2NodeClass %s in the cluster, without the label %s. Rename the group or that one.",
			group.Name, model.TagInstanceGroup)
	}
	wanted := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	wanted.SetAPIVersion(resource.GroupVersion().String())
	wanted.SetKind("EC2NodeClass")
	wanted.SetName(group.Name)
	wanted.SetLabels(map[string]string{model.TagInstanceGroup: group.Name})
	_, err = classes.Apply(ctx, group.Name, wanted, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	switch {
	case apierrors.IsNotFound(err):
		return condition(reasonNotInstalled, "The cluster has no kind EC2NodeClass in version v1: install Karpenter.")
	case err != nil:
		return condition(reasonRefused, "The cluster refuses the EC2NodeClass: %v.", err)
	}
	return metav1.Condition{
		Type: conditions.NodeClass, Status: metav1.ConditionTrue, Reason: reasonApplied,
		Message: fmt.Sprintf("The cluster has the EC2NodeClass %s.", group.Name),
	}
}

// Delete deletes the NodeClass of a group, which Karpenter keeps until it has ended its nodes. It leaves
// one that is not the group's.
func Delete(ctx context.Context, config *rest.Config, group *v1alpha1.InstanceGroup) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	classes := client.Resource(resource)
	found, err := classes.Get(ctx, group.Name, metav1.GetOptions{})
	if err == nil && found.GetLabels()[model.TagInstanceGroup] == group.Name {
		uid := found.GetUID()
		err = classes.Delete(ctx, group.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the EC2NodeClass %s: %w", group.Name, err)
	}
	return nil
}

func condition(reason, format string, args ...any) metav1.Condition {
	return metav1.Condition{
		Type: conditions.NodeClass, Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...),
	}
}
