package model

import "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"

// Resolve decides everything about a cluster. The error is Problems.
func Resolve(in Input) (*Cluster, error) {
	return nil, Problems{{Field: "spec", Message: "cannot be resolved yet", Remedy: "wait"}}
}

// ResolveGroup decides everything about one of the cluster's instance groups.
// The error is Problems.
func ResolveGroup(c *Cluster, g *v1alpha1.InstanceGroup) (*Group, error) {
	return nil, Problems{{Field: "spec", Message: "cannot be resolved yet", Remedy: "wait"}}
}
