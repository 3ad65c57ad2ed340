package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of identities.
const Group = "aws-operator.aws"

// Version is the only version served.
const Version = "v1alpha1"

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

const (
	// IdentityAnnotation names an AWSIdentity: on an object, the one that it uses; on a Namespace,
	// as an annotation or a label, the one that its objects use by default.
	IdentityAnnotation = "aws-operator/identity"
	// RegionAnnotation names a region of the AWSIdentity, on an object or a Namespace as above.
	RegionAnnotation = "aws-operator/region"
	// TagsAnnotation are tags, as a map in YAML, of the stacks of services and their resources: on an
	// object, or on a Namespace for its objects. An object's take precedence.
	TagsAnnotation = "aws-operator/tags"
	// CreatedInAnnotation is the account and region of an object's stacks, which the operator writes
	// before it creates the first, for example 123456789012/eu-central-1.
	CreatedInAnnotation = "aws-operator/created-in"
	// Finalizer keeps an AWSIdentity while objects use it.
	Finalizer = Group + "/operator"
)

// AddToScheme registers AWSIdentity.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &AWSIdentity{}, &AWSIdentityList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
