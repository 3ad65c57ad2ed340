package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ModelRevision is a version of a ModelDefinition that an object uses. The operator makes it when the
// definition changes, and deletes it when no object uses it any more. Its name ends with a hash of the
// content; a revision with other content is not used. Do not change it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="DEFINITION",type=string,JSONPath=`.spec.modelDefinition`
// +kubebuilder:printcolumn:name="KIND",type=string,JSONPath=`.spec.kind`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type ModelRevision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the content of the revision.
	Spec ModelRevisionSpec `json:"spec"`
}

// ModelRevisionList is a list of model revisions.
//
// +kubebuilder:object:root=true
type ModelRevisionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the revisions.
	Items []ModelRevision `json:"items"`
}

// ModelRevisionSpec is the content of a ModelRevision.
type ModelRevisionSpec struct {
	// ModelDefinition is the name of the ModelDefinition.
	ModelDefinition string `json:"modelDefinition"`

	// Kind is the kind of the objects.
	Kind string `json:"kind"`

	// Definition is the spec of the ModelDefinition as it was, without rollout.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Definition RawJSON `json:"definition"`
}
