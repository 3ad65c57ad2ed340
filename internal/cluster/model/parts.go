package model

import "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"

// SpecOf returns a Cluster's spec with every default filled in, for callers that do not need
// [Resolve].
func SpecOf(cluster *v1alpha1.Cluster) v1alpha1.ClusterSpec { return defaulted(&cluster.Spec) }

// RollingOf returns the settings of a group's rolling updates, for callers that do not need
// [ResolveGroup]. The error is Problems.
func RollingOf(group *v1alpha1.InstanceGroup) (*Rolling, error) {
	var problems Problems
	r := &Group{Name: group.Name, Spec: defaultedGroup(&group.Spec)}
	r.resolveRolling(&problems)
	if err := problems.err(); err != nil {
		return nil, err
	}
	return &r.Rolling, nil
}
