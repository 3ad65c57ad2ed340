package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of workload clusters.
const Group = "cluster-operator.aws"

// PausedAnnotation stops the operator from reconciling the object if its value is "true".
const PausedAnnotation = "aws-operator/paused"

const (
	// DriftPolicyAnnotation on a Cluster or an InstanceGroup is what to do about changes of its stacks'
	// resources outside of CloudFormation: Report, the default, or Ignore.
	DriftPolicyAnnotation = Group + "/drift-policy"
	// CheckDriftAnnotation requests a check for drift: any new value, such as a time.
	CheckDriftAnnotation = Group + "/check-drift"
	// IgnoreDriftAnnotation lists, separated by commas, properties whose drift does not count, such as
	// AutoScalingGroup/MaxSize, or whole resources by their logical ID.
	IgnoreDriftAnnotation = Group + "/ignore-drift"
)

// FleetOwnsAnnotation on a Cluster lists, separated by commas, fields such as spec.release that a Fleet may take from
// other field managers; * are all fields of the Fleet's template. Without it, a Fleet leaves such fields as they are.
const FleetOwnsAnnotation = Group + "/fleet-owns"

// Version is the only version served.
const Version = "v1alpha1"

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme registers Cluster, InstanceGroup, Fleet and Release.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Cluster{}, &ClusterList{},
		&InstanceGroup{}, &InstanceGroupList{},
		&Fleet{}, &FleetList{},
		&Release{}, &ReleaseList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
