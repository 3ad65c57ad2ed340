package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of every modelled kind.
const Group = "service-operator.aws"

// Version is the only version served.
const Version = "v1alpha1"

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme registers ModelDefinition, ModelRevision and CloudFormationTemplate, the kinds that
// have a Go type of their own.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&ModelDefinition{}, &ModelDefinitionList{},
		&ModelRevision{}, &ModelRevisionList{},
		&CloudFormationTemplate{}, &CloudFormationTemplateList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// AddObjectToScheme registers [Object] as the Go type of one modelled kind. A scheme can serve one
// modelled kind only, because the type of a Go value must name its kind; give every kind a scheme
// of its own.
func AddObjectToScheme(s *runtime.Scheme, kind string) error {
	s.AddKnownTypeWithName(GroupVersion.WithKind(kind), &Object{})
	s.AddKnownTypeWithName(GroupVersion.WithKind(kind+"List"), &ObjectList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
