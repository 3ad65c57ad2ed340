package clusterapi

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// kindInstanceGroup is the operator's kind of the infrastructure of a MachinePool.
const kindInstanceGroup = "InstanceGroup"

// Reasons of the condition ClusterAPIFollowed.
const (
	// ReasonFollowed means that the object does what its owner says.
	ReasonFollowed = "Followed"
	// ReasonNotReferenced means that the owner does not refer to the object.
	ReasonNotReferenced = "NotReferenced"
	// ReasonNameDiffers means that the Clusters have different names.
	ReasonNameDiffers = "NameDiffers"
	// ReasonClusterDiffers means that MachinePool and InstanceGroup are of different clusters.
	ReasonClusterDiffers = "ClusterDiffers"
	// ReasonEKS means that EKS runs the control plane.
	ReasonEKS = "EKSNotSupported"
	// ReasonWriteRefused means that the API server refused what the owner says.
	ReasonWriteRefused = "WriteRefused"
)

// Problem is why an owner is not followed.
type Problem struct{ Reason, Message string }

// Owner is the owner of an object among CAPI's objects.
type Owner struct {
	// Exists is whether there is an owner. Otherwise, all else is empty.
	Exists bool
	// Unknown is whether an owner may exist, because CAPI's objects are not read yet.
	Unknown bool
	// Name is the owner's name.
	Name string
	// Problem is why it is not followed, nil if it is.
	Problem *Problem

	object *unstructured.Unstructured
}

// Follows reports whether the operator does what the owner says.
func (o *Owner) Follows() bool { return o.Exists && o.Problem == nil }

// ClusterOwner returns the Cluster of CAPI that owns a Cluster.
func (o *Objects) ClusterOwner(ctx context.Context, cluster *v1alpha1.Cluster) Owner {
	owner := o.find(ctx, cluster, kindCluster)
	if !owner.Exists {
		return owner
	}
	referenced := refersTo(owner.object, kindCluster, "spec", "controlPlaneRef") == cluster.Name &&
		refersTo(owner.object, kindCluster, "spec", "infrastructureRef") == cluster.Name
	switch {
	case !referenced:
		owner.Problem = &Problem{ReasonNotReferenced, fmt.Sprintf(
			"The Cluster %s of Cluster API owns this Cluster without referring to it: set its spec.infrastructureRef and spec.controlPlaneRef to this Cluster.", owner.Name,
		)}
	case owner.Name != cluster.Name:
		owner.Problem = &Problem{ReasonNameDiffers, fmt.Sprintf(
			"The Cluster %s of Cluster API has another name than this Cluster: give both the same name, since Secrets are named after it.", owner.Name,
		)}
	case model.UsesEKS(cluster):
		owner.Problem = &Problem{ReasonEKS, "Cluster API needs a kubeconfig with credentials, and EKS issues only tokens of 15 minutes: use a control plane of the operator's."}
	}
	return owner
}

// GroupOwner returns the MachinePool that owns an InstanceGroup.
func (o *Objects) GroupOwner(ctx context.Context, group *v1alpha1.InstanceGroup) Owner {
	owner := o.find(ctx, group, kindMachinePool)
	if !owner.Exists {
		return owner
	}
	cluster, _, _ := unstructured.NestedString(owner.object.Object, "spec", "clusterName")
	switch {
	case refersTo(owner.object, kindInstanceGroup, "spec", "template", "spec", "infrastructureRef") != group.Name:
		owner.Problem = &Problem{ReasonNotReferenced, fmt.Sprintf(
			"The MachinePool %s owns this group without referring to it: set its spec.template.spec.infrastructureRef to this group.", owner.Name,
		)}
	case cluster != group.Spec.Cluster:
		owner.Problem = &Problem{ReasonClusterDiffers, fmt.Sprintf(
			"The MachinePool %s is of cluster %q, and this group of cluster %q: set its spec.clusterName to the group's cluster.", owner.Name, cluster, group.Spec.Cluster,
		)}
	}
	return owner
}

// find returns the object of a kind of CAPI's that an owner reference names, if it exists with the
// reference's UID. Only the object's own namespace is searched.
func (o *Objects) find(ctx context.Context, obj client.Object, kind string) Owner {
	reference := referenceTo(obj, kind)
	if o == nil || reference == nil {
		return Owner{}
	}
	switch state(o.state.Load()) {
	case absent:
		return Owner{}
	case unknown:
		return Owner{Unknown: true}
	case synced:
	}
	found := empty(kind)
	err := (*o.cache.Load()).Get(ctx, types.NamespacedName{Namespace: obj.GetNamespace(), Name: reference.Name}, found)
	if apierrors.IsNotFound(err) || err == nil && found.GetUID() != reference.UID {
		return Owner{}
	}
	if err != nil {
		return Owner{Unknown: true}
	}
	return Owner{Exists: true, Name: found.GetName(), object: found}
}

// referenceTo returns the first owner reference to a kind of CAPI's, nil if there is none.
func referenceTo(obj client.Object, kind string) *metav1.OwnerReference {
	references := obj.GetOwnerReferences()
	for i := range references {
		parsed, err := schema.ParseGroupVersion(references[i].APIVersion)
		if err == nil && parsed.Group == v1alpha1.ClusterAPIGroup && references[i].Kind == kind {
			return &references[i]
		}
	}
	return nil
}

// refersTo returns the name in a reference of one of CAPI's objects to a kind of the operator's, "" if
// it refers to something else.
func refersTo(owner *unstructured.Unstructured, kind string, path ...string) string {
	reference, _, err := unstructured.NestedStringMap(owner.Object, path...)
	if err != nil || reference["apiGroup"] != v1alpha1.Group || reference["kind"] != kind {
		return ""
	}
	return reference["name"]
}
