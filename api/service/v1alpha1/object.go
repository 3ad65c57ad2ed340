package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Object is one object of a modelled kind. Which kind it is stands in its TypeMeta; what its spec
// may say stands in that kind's CustomResourceDefinition.
//
// +kubebuilder:object:root=true
type Object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user wants, as JSON. The operator never writes it.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec RawJSON `json:"spec,omitempty"`

	// Output holds the outputs of the stack, by name.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Output map[string]Value `json:"output,omitempty"`

	// AdditionalResources names what was made from the outputs.
	AdditionalResources *AdditionalResources `json:"additionalResources,omitempty"`

	// Status is what was last seen.
	Status ObjectStatus `json:"status,omitempty"`
}

// ObjectList is a list of objects of one modelled kind.
//
// +kubebuilder:object:root=true
type ObjectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []Object `json:"items"`
}

// AdditionalResources names the Kubernetes objects made for an object, in its namespace.
type AdditionalResources struct {
	// ConfigMaps are the names of the ConfigMaps.
	// +optional
	// +listType=set
	ConfigMaps []string `json:"configMaps,omitempty"`

	// Services are the names of the Services.
	// +optional
	// +listType=set
	Services []string `json:"services,omitempty"`

	// Secrets are the names of the Secrets.
	// +optional
	// +listType=set
	Secrets []string `json:"secrets,omitempty"`
}

// ObjectStatus is the status that every modelled kind shares.
type ObjectStatus struct {
	// ResourceStatus is the status of the stack in CloudFormation's own word.
	// +optional
	ResourceStatus string `json:"resourceStatus,omitempty"`

	// ResourceStatusReason says why the stack is in that status.
	// +optional
	ResourceStatusReason string `json:"resourceStatusReason,omitempty"`

	// StackID is the ARN of the stack.
	// +optional
	StackID string `json:"stackID,omitempty"`

	// StackName is the name of the stack.
	// +optional
	StackName string `json:"stackName,omitempty"`

	// OutputDigest is a short hash of the output as it was written, to notice when somebody else
	// changed it.
	// +optional
	OutputDigest string `json:"outputDigest,omitempty"`

	// ObservedGeneration is the generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions say how far the object is and what a person can do about it.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// PendingChanges are changes that wait for approval.
	// +optional
	// +listType=atomic
	PendingChanges []PendingChange `json:"pendingChanges,omitempty"`

	// Stack is what the operator must remember of the stack to go on after a restart without
	// asking AWS. Its form is the operator's own.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Stack RawJSON `json:"stack,omitempty"`
}

// PendingChange is a change of a stack that waits for approval.
type PendingChange struct {
	// Stack is the stack's name.
	Stack string `json:"stack"`

	// Digest names exactly this change: the annotation aws-operator/approve with it carries it out.
	Digest string `json:"digest,omitempty"`

	// Summary says in a few sentences what would be done, losses first.
	Summary string `json:"summary,omitempty"`

	// Changes are what CloudFormation would do, by resource.
	// +optional
	// +listType=atomic
	Changes []ResourceChange `json:"changes,omitempty"`
}

// ResourceChange is what would be done with one resource.
type ResourceChange struct {
	// Resource is its logical ID, Type its CloudFormation type, PhysicalID its name in AWS if it has one.
	Resource   string `json:"resource"`
	Type       string `json:"type,omitempty"`
	PhysicalID string `json:"physicalID,omitempty"`

	// Action is CloudFormation's word: Add, Modify, Remove, Import or Dynamic.
	Action string `json:"action,omitempty"`

	// Replacement is True, False or Conditional, of a modification.
	Replacement string `json:"replacement,omitempty"`

	// Properties are what changes, by their paths. Values are not shown: they may be secret.
	// +optional
	// +listType=atomic
	Properties []string `json:"properties,omitempty"`

	// Warning says in plain words what would be lost, if anything.
	Warning string `json:"warning,omitempty"`
}

// GetConditions returns the object's conditions.
func (o *Object) GetConditions() []metav1.Condition { return o.Status.Conditions }

// SetConditions replaces the object's conditions.
func (o *Object) SetConditions(conditions []metav1.Condition) { o.Status.Conditions = conditions }

// SetObservedGeneration records the generation that the status speaks of.
func (o *Object) SetObservedGeneration(generation int64) { o.Status.ObservedGeneration = generation }
