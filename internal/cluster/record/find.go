package record

import (
	"slices"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

// Find returns a stack's entry in a Cluster's status, nil if it has none.
func Find(cluster *v1alpha1.Cluster, name string) *v1alpha1.StackStatus {
	for i := range cluster.Status.Stacks {
		if cluster.Status.Stacks[i].Name == name {
			return &cluster.Status.Stacks[i]
		}
	}
	return nil
}

// FindOrAdd returns a stack's entry in a Cluster's status, and adds it if missing.
func FindOrAdd(cluster *v1alpha1.Cluster, name string) *v1alpha1.StackStatus {
	if found := Find(cluster, name); found != nil {
		return found
	}
	cluster.Status.Stacks = append(cluster.Status.Stacks, v1alpha1.StackStatus{Name: name})
	return &cluster.Status.Stacks[len(cluster.Status.Stacks)-1]
}

// Forget removes a stack's entry from a Cluster's status.
func Forget(cluster *v1alpha1.Cluster, name string) {
	cluster.Status.Stacks = slices.DeleteFunc(cluster.Status.Stacks, func(one v1alpha1.StackStatus) bool { return one.Name == name })
}
