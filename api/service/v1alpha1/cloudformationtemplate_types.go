package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CloudFormationTemplate is a CloudFormation template that objects may use instead of the template
// of their kind. They reference it in spec.cloudFormationTemplateName and
// spec.cloudFormationTemplateNamespace. The operator does not upload it: it stays in the cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,categories=aws,shortName=cft;cfts;cfn;cfns;cloudformation
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="REASON",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type CloudFormationTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Data is the template.
	// +optional
	Data CloudFormationTemplateData `json:"data,omitempty"`

	// Output is ignored. Manifests of the AWS Service Operator may have it; the operator writes
	// status.output.
	// +optional
	// +nullable
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Output *RawJSON `json:"output,omitempty"`

	// AdditionalResources is ignored. Manifests of the AWS Service Operator may have it.
	// +optional
	// +nullable
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	AdditionalResources *RawJSON `json:"additionalResources,omitempty"`

	// Status is whether the template is valid.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status CloudFormationTemplateStatus `json:"status,omitempty"`
}

// CloudFormationTemplateList is a list of templates.
//
// +kubebuilder:object:root=true
type CloudFormationTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the templates.
	Items []CloudFormationTemplate `json:"items"`
}

// CloudFormationTemplateData is a template and its file name.
type CloudFormationTemplateData struct {
	// Key is the name of the template's file, used in messages about it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Key string `json:"key,omitempty"`

	// Template is the CloudFormation template, in YAML or JSON, of up to 1000000 characters. A
	// change updates the stacks of the objects that use it.
	// +optional
	// +kubebuilder:validation:MaxLength=1000000
	Template string `json:"template,omitempty"`
}

// CloudFormationTemplateOutput is where a template can be read.
type CloudFormationTemplateOutput struct {
	// URL is the path of the template in the Kubernetes API.
	// +optional
	URL string `json:"url,omitempty"`
}

// CloudFormationTemplateStatus is whether a template is valid.
type CloudFormationTemplateStatus struct {
	// ResourceStatus is COMPLETE when the template can be used and FAILED when it cannot.
	// +optional
	ResourceStatus string `json:"resourceStatus,omitempty"`

	// ResourceStatusReason describes what is wrong with the template.
	// +optional
	ResourceStatusReason string `json:"resourceStatusReason,omitempty"`

	// StackID is always empty: a template has no stack of its own.
	// +optional
	StackID string `json:"stackID,omitempty"`

	// Output is where the template can be read.
	// +optional
	Output *CloudFormationTemplateOutput `json:"output,omitempty"`

	// ObservedGeneration is the generation that this status reports on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Ready, which is True when the template can be used, and Stalled, which is True
	// when it must be corrected.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GetConditions returns the template's conditions.
func (t *CloudFormationTemplate) GetConditions() []metav1.Condition { return t.Status.Conditions }

// SetConditions replaces the template's conditions.
func (t *CloudFormationTemplate) SetConditions(conditions []metav1.Condition) {
	t.Status.Conditions = conditions
}

// SetObservedGeneration records the generation that the status reports on.
func (t *CloudFormationTemplate) SetObservedGeneration(generation int64) {
	t.Status.ObservedGeneration = generation
}
