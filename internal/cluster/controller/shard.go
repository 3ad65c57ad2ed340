package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// InformersOf returns the constructor of informers for the cache of the manager that serves a shard of the
// Clusters. A Cluster and its InstanceGroups and Secrets are in one shard. Objects of other kinds pass.
func InformersOf(shard operatorkit.Shard) operatorkit.InformerConstructor {
	return shard.NewInformer(clusterOf)
}

// clusterOf is the key of a Cluster or InstanceGroup. An InstanceGroup cannot change its Cluster.
func clusterOf(obj runtime.Object) (key string, divided bool) {
	switch o := obj.(type) {
	case *v1alpha1.Cluster:
		return keyOf(o).String(), true
	case *v1alpha1.InstanceGroup:
		return clusterKeyOf(o).String(), true
	}
	return "", false
}

// clusterOfSecret is the key of the Cluster that controls a Secret.
func clusterOfSecret(obj runtime.Object) (key string, divided bool) {
	secret, ok := obj.(metav1.Object)
	if !ok {
		return "", false
	}
	controller := metav1.GetControllerOfNoCopy(secret)
	if controller == nil {
		return "", false
	}
	return types.NamespacedName{Namespace: secret.GetNamespace(), Name: controller.Name}.String(), true
}
