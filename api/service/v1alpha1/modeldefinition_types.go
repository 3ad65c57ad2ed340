package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ModelDefinition defines a kind of AWS service. The operator creates the CustomResourceDefinition
// of the kind and reconciles its objects: each becomes a CloudFormation stack, rendered from the
// template and the object's spec.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=aws,shortName=model;models
// +kubebuilder:printcolumn:name="KIND",type=string,JSONPath=`.status.kind`
// +kubebuilder:printcolumn:name="TYPE",type=string,JSONPath=`.spec.resourceType`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="REASON",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type ModelDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the definition of the kind: its names, the schema of its objects, and their stack.
	Spec ModelDefinitionSpec `json:"spec"`

	// Status is whether the kind is served.
	// +optional
	Status ModelDefinitionStatus `json:"status,omitempty"`
}

// ModelDefinitionList is a list of model definitions.
//
// +kubebuilder:object:root=true
type ModelDefinitionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the model definitions.
	Items []ModelDefinition `json:"items"`
}

// ModelDefinitionSpec is the definition of a kind.
//
// +kubebuilder:validation:XValidation:rule="has(self.resourceType) || has(self.template)",message="give resourceType, template, or both"
// +kubebuilder:validation:XValidation:rule="has(self.kind) || has(self.resourceType)",message="give a kind: only a resourceType has a default"
// +kubebuilder:validation:XValidation:rule="has(self.kind) == has(oldSelf.kind) && (!has(self.kind) || self.kind == oldSelf.kind)",message="kind cannot change; create another ModelDefinition"
// +kubebuilder:validation:XValidation:rule="has(self.kind) || self.resourceType == oldSelf.resourceType",message="resourceType cannot change without kind, whose default is made of it; create another ModelDefinition"
// +kubebuilder:validation:XValidation:rule="has(self.plural) == has(oldSelf.plural) && (!has(self.plural) || self.plural == oldSelf.plural)",message="plural cannot change; create another ModelDefinition"
type ModelDefinitionSpec struct {
	// Kind is the kind of the objects, in CamelCase. The default is made of resourceType:
	// KinesisStream of AWS::Kinesis::Stream. It cannot change.
	// +optional
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=59
	Kind string `json:"kind,omitempty"`

	// Plural is the plural used in URLs. The default is the kind in lower case with an s. It cannot
	// change.
	// +optional
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9-]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Plural string `json:"plural,omitempty"`

	// ShortNames are names that users may type instead of the plural. At most 16.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Pattern=`^[a-z]([a-z0-9-]*[a-z0-9])?$`
	// +kubebuilder:validation:items:MaxLength=63
	ShortNames []string `json:"shortNames,omitempty"`

	// Description is the text that kubectl explain shows for the kind.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Description string `json:"description,omitempty"`

	// ResourceType is the CloudFormation resource type of the kind, for example
	// AWS::Kinesis::Stream. The operator derives schema, template and outputs from it if they are
	// empty.
	// +optional
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]{2,64}::[A-Za-z0-9]{2,64}::[A-Za-z0-9]{2,64}$`
	ResourceType string `json:"resourceType,omitempty"`

	// Schema is the OpenAPI v3 schema of the objects' spec. If empty, the operator derives it from
	// resourceType.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Schema RawJSON `json:"schema,omitempty"`

	// Validations are rules in the Common Expression Language for the whole object, at most 32.
	// They may read self.metadata.name and self.spec.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Validations []ModelValidation `json:"validations,omitempty"`

	// Template is the CloudFormation template of an object's stack: YAML, rendered by Go's
	// text/template with .name, .namespace, .kind, .spec, .references, .region, .accountID,
	// .partition, .dnsSuffix and .clusterName. The operator quotes every value that it inserts, so
	// an interpolation must stand for a whole YAML value. If empty, the operator derives the
	// template from resourceType. A change updates the stacks of all objects of the kind.
	// +optional
	// +kubebuilder:validation:MaxLength=1000000
	Template string `json:"template,omitempty"`

	// Outputs are the fields of the objects' output, at most 200. If empty, the operator derives
	// them from the Outputs of the template: the output QueueURL becomes the field queueURL. Without
	// a template, they are the identifier and the ARN of the resource, and what the texts of
	// additionalResources use. To publish other attributes of resourceType, list all outputs: the
	// attribute Endpoint.Address is the output endpointAddress. AWS sets some attributes only if a
	// feature is on, and the stack of an object without a listed attribute fails.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=200
	Outputs []ModelOutput `json:"outputs,omitempty"`

	// Parameters are further parameters of the templates that users name in
	// spec.cloudFormationTemplateName to replace the kind's own: the name of the parameter, and a
	// Go template for its value. Every field of the spec is a parameter already, with its name in
	// PascalCase.
	// +optional
	Parameters map[string]string `json:"parameters,omitempty"`

	// References are other objects that must be ready before the operator creates the stack, at
	// most 16. The template may use their outputs as .references.NAME.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	References []ModelReference `json:"references,omitempty"`

	// AdditionalResources are the Kubernetes objects to make from the outputs.
	// +optional
	AdditionalResources ModelAdditionalResources `json:"additionalResources,omitempty"`

	// Capabilities are the IAM capabilities to acknowledge when the operator creates and updates
	// stacks of the kind. The operator acknowledges no others, whatever a template contains: a
	// model that creates IAM roles needs CAPABILITY_IAM, or CAPABILITY_NAMED_IAM if it names them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:items:Enum=CAPABILITY_IAM;CAPABILITY_NAMED_IAM;CAPABILITY_AUTO_EXPAND
	Capabilities []string `json:"capabilities,omitempty"`

	// DynamicReferences are the fields of the spec, as dotted paths, whose values may contain
	// dynamic references of CloudFormation ({{resolve:…}}). The operator refuses them in all other
	// fields. They read Secrets Manager and Systems Manager with the operator's permissions, so a
	// user who may write such a field can read what the operator can read.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	DynamicReferences []string `json:"dynamicReferences,omitempty"`

	// Foreign are values by which an object references AWS resources that its namespace did not
	// create. The operator refuses those that its flag --allow-foreign does not grant to the
	// namespace.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Foreign []ModelForeign `json:"foreign,omitempty"`

	// AccessLevels are what spec.grants of an object may grant to a service account, at most 16. If
	// empty, the objects have no field grants. A change updates the stacks of all objects with
	// grants.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	AccessLevels []ModelAccessLevel `json:"accessLevels,omitempty"`
}

// ModelAccessLevel is what a service account may do with the resources of an object's stack.
type ModelAccessLevel struct {
	// Name is the value of access in spec.grants, for example Send or ReadWrite.
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z]*$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Description is the text that kubectl explain shows for the level.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Description string `json:"description,omitempty"`

	// Statements are the permissions of the level, at least one and at most 16.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Statements []ModelAccessStatement `json:"statements"`
}

// ModelAccessStatement allows actions on resources of an object's stack.
type ModelAccessStatement struct {
	// Actions are IAM actions without wildcards, for example sqs:SendMessage. Choose actions that
	// AWS limits to a resource; others have no effect here.
	// https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9-]+:[A-Za-z][A-Za-z0-9]*$`
	// +kubebuilder:validation:items:MaxLength=128
	Actions []string `json:"actions"`

	// Resources are Go templates, with the values of the stack's template, each for the ARN of a
	// resource in the stack as an expression of CloudFormation, for example
	// {Fn::GetAtt: [Queue, Arn]}. A text that renders nothing names no resource, and a statement
	// without resources is omitted: so a statement can be for a key that only some stacks have.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=2048
	Resources []string `json:"resources"`
}

// ModelForeign is a value by which an object references an AWS resource that its namespace did not
// create.
type ModelForeign struct {
	// Name is the name by which the template lists the objects that share the resource:
	// .siblings.NAME has the references of every object of the kind that references the same
	// resource and may do so.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][A-Za-z0-9]*$`
	Name string `json:"name"`

	// Field is the field that error messages name, for example spec.endpoint.
	// +kubebuilder:validation:MaxLength=253
	Field string `json:"field"`

	// ARN is a Go template for the ARN of the resource. If it renders an empty text, the object
	// references no resource.
	// +kubebuilder:validation:MaxLength=2048
	ARN string `json:"arn"`
}

// ModelValidation is a validation rule for all objects of the kind.
type ModelValidation struct {
	// Rule is an expression in the Common Expression Language that is true for valid objects.
	// +kubebuilder:validation:MaxLength=2048
	Rule string `json:"rule"`

	// Message is the error message for objects that break the rule.
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message"`
}

// ModelOutput is one field of an object's output.
type ModelOutput struct {
	// Name is the name of the field, for example tableARN.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`

	// Description is the text that kubectl explain shows for the field.
	// +optional
	Description string `json:"description,omitempty"`

	// Type is how the value is written: String (the default), Integer or Number. CloudFormation's
	// outputs are strings; Integer and Number write them without quotes.
	// +optional
	// +kubebuilder:default=String
	Type OutputType `json:"type,omitempty"`

	// From is the name of the template's output that has the value. The default is the name with
	// its first letter in upper case. If the stack of an object has no such output, because the
	// template adds it on a condition, the object has no such field.
	// +optional
	From string `json:"from,omitempty"`
}

// OutputType is how an output is written.
//
// +kubebuilder:validation:Enum=String;Integer;Number
type OutputType string

// Types of output.
const (
	// OutputString writes the output as a string.
	OutputString OutputType = "String"
	// OutputInteger writes the output as a whole number.
	OutputInteger OutputType = "Integer"
	// OutputNumber writes the output as a number.
	OutputNumber OutputType = "Number"
)

// ModelReference names another object by a field of the spec.
type ModelReference struct {
	// Name is the name of the reference in the template.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][A-Za-z0-9]*$`
	Name string `json:"name"`

	// Kind is the kind of the other object, in the same group and namespace.
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	Kind string `json:"kind"`

	// ObjectName is a Go template for the other object's name, for example {{ .spec.topicName }}.
	// If it renders an empty text, there is no reference.
	ObjectName string `json:"objectName"`

	// PhysicalID is the name of the other object's output whose value must be the physical ID of a
	// resource in that object's stack. Set it if the template changes or reads the resource, since
	// the author of the other object may have chosen its outputs.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	PhysicalID string `json:"physicalID,omitempty"`
}

// ModelAdditionalResources are the Kubernetes objects to make from an object's outputs. All texts
// are Go templates with the values of the stack's template, and .output. A text must not print a
// value that is not set: the object waits for the value, and its conditions name it. If the value
// is optional, the text gives a default, for example {{ default "" .output.websiteURL }}.
type ModelAdditionalResources struct {
	// ConfigMaps are made for every object.
	// +optional
	// +listType=atomic
	ConfigMaps []ModelData `json:"configMaps,omitempty"`

	// Secrets are made for every object.
	// +optional
	// +listType=atomic
	Secrets []ModelData `json:"secrets,omitempty"`

	// Services are made for every object.
	// +optional
	// +listType=atomic
	Services []ModelService `json:"services,omitempty"`
}

// ModelData is a ConfigMap or a Secret.
type ModelData struct {
	// Name is the name of the ConfigMap or Secret. The default is the name of the object.
	// +optional
	Name string `json:"name,omitempty"`

	// Data are keys and values.
	Data map[string]string `json:"data"`
}

// ModelService is a Service of type ExternalName.
type ModelService struct {
	// ID is the name by which the texts of ConfigMaps and Secrets refer to the Service:
	// .services.ID is its name.
	// +optional
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][A-Za-z0-9]*$`
	ID string `json:"id,omitempty"`

	// Name is the name of the Service. The default is the name of the object.
	// +optional
	Name string `json:"name,omitempty"`

	// ExternalName is the DNS name that the Service points to. While it is empty, or prints only
	// values that are not set, the operator makes no Service.
	ExternalName string `json:"externalName"`

	// Port is the port of the Service, a template that renders a number. If it is empty, or prints
	// only values that are not set, the Service has no port.
	// +optional
	Port string `json:"port,omitempty"`
}

// ModelDefinitionStatus is whether a kind is served.
type ModelDefinitionStatus struct {
	// Kind is the kind of the objects.
	// +optional
	Kind string `json:"kind,omitempty"`

	// ObservedGeneration is the generation of the spec that this status reports on.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Ready, which is True when the kind is served, and Stalled, which is True when
	// the definition must be corrected.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ObjectKind returns the kind of the objects: spec.kind, or its default.
func (s *ModelDefinitionSpec) ObjectKind() string {
	if s.Kind != "" {
		return s.Kind
	}
	return strings.ReplaceAll(strings.TrimPrefix(s.ResourceType, "AWS::"), "::", "")
}

// GetConditions returns the definition's conditions.
func (m *ModelDefinition) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions replaces the definition's conditions.
func (m *ModelDefinition) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// SetObservedGeneration records the generation that the status reports on.
func (m *ModelDefinition) SetObservedGeneration(generation int64) {
	m.Status.ObservedGeneration = generation
}
