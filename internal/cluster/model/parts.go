package model

import "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"

// SpecOf returns a Cluster's spec with every default filled, for those who need not know all that [Resolve] decides.
func SpecOf(cluster *v1alpha1.Cluster) v1alpha1.ClusterSpec { return defaulted(&cluster.Spec) }

// RollingOf returns how a group's machines are replaced, in numbers, for those who need not know all that [ResolveGroup] decides. The
// error is Problems.
func RollingOf(group *v1alpha1.InstanceGroup) (*Rolling, error) {
	var problems Problems
	r := &Group{Name: group.Name, Spec: defaultedGroup(&group.Spec)}
	r.resolveRolling(&problems)
	if err := problems.err(); err != nil {
		return nil, err
	}
	return &r.Rolling, nil
}
