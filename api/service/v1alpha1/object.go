package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Object is one object of a modelled kind. Its TypeMeta names the kind; the schema of its spec is
// in the CustomResourceDefinition of that kind.
//
// +kubebuilder:object:root=true
type Object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state, as JSON. The operator never writes it.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec RawJSON `json:"spec,omitempty"`

	// Status is the observed state.
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

// AdditionalResources are the names of the Kubernetes objects made for an object, in its namespace.
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
	// ResourceStatus is the status of the stack that CloudFormation reports.
	// +optional
	ResourceStatus string `json:"resourceStatus,omitempty"`

	// ResourceStatusReason is the reason for the status.
	// +optional
	ResourceStatusReason string `json:"resourceStatusReason,omitempty"`

	// StackID is the ARN of the stack.
	// +optional
	StackID string `json:"stackID,omitempty"`

	// StackName is the name of the stack.
	// +optional
	StackName string `json:"stackName,omitempty"`

	// Output are the outputs of the stack, by name.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Output map[string]Value `json:"output,omitempty"`

	// AdditionalResources are the names of the objects made from the outputs.
	// +optional
	AdditionalResources *AdditionalResources `json:"additionalResources,omitempty"`

	// OutputDigest is a short hash of the output as the operator wrote it. By it the operator
	// detects changes by other clients.
	// +optional
	OutputDigest string `json:"outputDigest,omitempty"`

	// ObservedGeneration is the generation of the spec that this status reports on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// ModelRevision is the ModelRevision that the object uses; empty for built-in kinds.
	// +optional
	ModelRevision string `json:"modelRevision,omitempty"`

	// PreviousModelRevision is the ModelRevision that the object used before, until it is ready with
	// ModelRevision.
	// +optional
	PreviousModelRevision string `json:"previousModelRevision,omitempty"`

	// Conditions are the conditions of the object. Their messages name the action that a user can
	// take.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// PendingChanges are the changes that wait for approval.
	// +optional
	// +listType=atomic
	PendingChanges []PendingChange `json:"pendingChanges,omitempty"`

	// Grants are the service accounts and objects to which the object grants access, or granted it
	// until what was made for that is deleted.
	// +optional
	// +listType=atomic
	Grants []GrantStatus `json:"grants,omitempty"`
	// Drift is what the last check for drift found.
	// +optional
	Drift *DriftStatus `json:"drift,omitempty"`

	// Stack is the operator's record of the stack, from which it continues after a restart without
	// AWS calls. Its format is internal and may change.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Stack RawJSON `json:"stack,omitempty"`
}

// GrantStatus is the role of a service account, or of an object, to which an object grants access.
type GrantStatus struct {
	// ServiceAccount is the name of the service account, in the object's namespace.
	// +optional
	ServiceAccount string `json:"serviceAccount,omitempty"`

	// Kind and Name are those of the object that has access, in the same namespace, in place of a
	// service account.
	// +optional
	Kind string `json:"kind,omitempty"`
	// +optional
	Name string `json:"name,omitempty"`

	// RoleARN is the ARN of the role.
	// +optional
	RoleARN string `json:"roleARN,omitempty"`

	// Message says why the service account does not have the role yet; empty if it has it.
	// +optional
	Message string `json:"message,omitempty"`
}

// DriftStatus is what the last check of a stack for drift found.
type DriftStatus struct {
	// CheckedAt is the time at which the last check ended that has a result.
	// +optional
	CheckedAt *metav1.Time `json:"checkedAt,omitempty"`

	// Resources are the resources that differ from the template, at most 10.
	// +optional
	// +listType=atomic
	Resources []DriftedResource `json:"resources,omitempty"`

	// Omitted is the number of further resources that differ.
	// +optional
	Omitted int32 `json:"omitted,omitempty"`

	// Record is the operator's record of the checks, from which it continues after a restart. Its format
	// is internal and may change.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Record RawJSON `json:"record,omitempty"`
}

// DriftedResource is a resource that differs from the template.
type DriftedResource struct {
	// Resource is the logical ID of the resource.
	Resource string `json:"resource"`

	// Type is the CloudFormation type of the resource.
	Type string `json:"type,omitempty"`

	// PhysicalID is the ID of the resource in AWS.
	PhysicalID string `json:"physicalID,omitempty"`

	// State is Modified or Deleted.
	State string `json:"state,omitempty"`

	// Properties are the properties that differ, at most 30 in all resources.
	// +optional
	// +listType=atomic
	Properties []DriftedProperty `json:"properties,omitempty"`

	// Omitted is the number of further properties that differ.
	// +optional
	Omitted int32 `json:"omitted,omitempty"`
}

// States of a DriftedResource.
const (
	// DriftModified means that properties of the resource differ.
	DriftModified = "Modified"
	// DriftDeleted means that the resource does not exist any more.
	DriftDeleted = "Deleted"
)

// DriftedProperty is a property whose value differs from the template.
type DriftedProperty struct {
	// Path is the path of the property.
	Path string `json:"path"`

	// Difference is the difference that CloudFormation reports: NOT_EQUAL, REMOVE or ADD.
	Difference string `json:"difference,omitempty"`

	// Expected is the value in the template, cut to 256 bytes. "****" stands for a value that is secret
	// or may be.
	Expected string `json:"expected,omitempty"`

	// Actual is the value in AWS, cut to 256 bytes. "****" stands for a value that is secret or may be.
	Actual string `json:"actual,omitempty"`
}

// PendingChange is a change of a stack that waits for approval.
type PendingChange struct {
	// Stack is the name of the stack.
	Stack string `json:"stack"`

	// Digest identifies this change. To approve it, set the annotation aws-operator/approve to the
	// digest.
	Digest string `json:"digest,omitempty"`

	// Summary describes the change in a few sentences, data loss first.
	Summary string `json:"summary,omitempty"`

	// Changes are the changes that CloudFormation would make, by resource.
	// +optional
	// +listType=atomic
	Changes []ResourceChange `json:"changes,omitempty"`
}

// ResourceChange is a change of one resource.
type ResourceChange struct {
	// Resource is the logical ID of the resource, Type its CloudFormation type, PhysicalID its ID
	// in AWS if it has one.
	Resource   string `json:"resource"`
	Type       string `json:"type,omitempty"`
	PhysicalID string `json:"physicalID,omitempty"`

	// Action is the action that CloudFormation reports: Add, Modify, Remove, Import or Dynamic.
	Action string `json:"action,omitempty"`

	// Replacement is whether a modification replaces the resource: True, False or Conditional.
	Replacement string `json:"replacement,omitempty"`

	// Properties are the paths of the properties that change. Values are omitted, since they may be
	// secret.
	// +optional
	// +listType=atomic
	Properties []string `json:"properties,omitempty"`

	// Warning describes what would be lost, if anything.
	Warning string `json:"warning,omitempty"`
}

// GetConditions returns the object's conditions.
func (o *Object) GetConditions() []metav1.Condition { return o.Status.Conditions }

// SetConditions replaces the object's conditions.
func (o *Object) SetConditions(conditions []metav1.Condition) { o.Status.Conditions = conditions }

// SetObservedGeneration records the generation that the status reports on.
func (o *Object) SetObservedGeneration(generation int64) { o.Status.ObservedGeneration = generation }
