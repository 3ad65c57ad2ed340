package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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
// +kubebuilder:printcolumn:name="ROLLOUT",type=string,JSONPath=`.status.conditions[?(@.type=="RolledOut")].reason`,priority=1
// +kubebuilder:printcolumn:name="OUTDATED",type=integer,JSONPath=`.status.outdatedObjects`,priority=1
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type ModelDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the definition of the kind: its names, the schema of its objects, and their stack.
	Spec ModelDefinitionSpec `json:"spec"`

	// Status is whether the kind is served.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
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
// +kubebuilder:validation:XValidation:rule="has(self.executionRole) == has(oldSelf.executionRole) && (!has(self.executionRole) || self.executionRole == oldSelf.executionRole)",message="executionRole cannot change; create another ModelDefinition"
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
	// most 64. The template may use their outputs as .references.NAME, and their specs as
	// .references.NAME.spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
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

	// AccessLevels are what spec.grants of an object may grant to a service account, and
	// spec.objectGrants to an object with an executionRole, at most 16. If empty, the objects have
	// neither field. A change updates the stacks of all objects with grants.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	AccessLevels []ModelAccessLevel `json:"accessLevels,omitempty"`

	// ExecutionRole gives each object an IAM role of its own, with which a service runs the object's
	// resource. The operator makes the role in a stack of its own, below the operator's path and with
	// the permissions boundary of the namespace's AWSIdentity. The template has its ARN as .role.arn
	// and adds policies to .role.name; other objects add theirs by spec.objectGrants. The objects need
	// the operator's flag --service-account-issuer. It cannot change.
	// +optional
	ExecutionRole *ModelExecutionRole `json:"executionRole,omitempty"`

	// Rollout is how a change of the definition reaches the objects that exist. It stops at the first
	// object whose update fails, until the definition changes again or the object is corrected.
	// +optional
	// +nullable
	Rollout *ModelRollout `json:"rollout,omitempty"`
}

// ModelRollout is how a change of a ModelDefinition reaches the objects that exist.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxConcurrent) || (type(self.maxConcurrent) == string ? self.maxConcurrent.matches('^([1-9][0-9]?|100)%$') : int(self.maxConcurrent) >= 1)",message="maxConcurrent is a number of at least 1, or a percentage such as 10%"
type ModelRollout struct {
	// MaxConcurrent is how many objects are updated at the same time, a number of at least 1 or a
	// percentage of the objects. The default is 10%.
	// +optional
	MaxConcurrent *intstr.IntOrString `json:"maxConcurrent,omitempty"`

	// Paused holds the change back from further objects. New objects use it.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// Limit returns how many of a number of objects are updated at the same time, at least one.
func (r *ModelRollout) Limit(objects int) int {
	value := new(intstr.FromString("10%"))
	if r != nil && r.MaxConcurrent != nil {
		value = r.MaxConcurrent
	}
	limit, err := intstr.GetScaledValueFromIntOrPercent(value, objects, true)
	if err != nil { // the API server refuses such a value
		return 1
	}
	return max(1, limit)
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

// ModelExecutionRole is the IAM role of each object of a kind.
type ModelExecutionRole struct {
	// Service is the service that may assume the role, for example lambda.amazonaws.com.
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]+(\.[a-z0-9-]+)*\.amazonaws\.com$`
	// +kubebuilder:validation:MaxLength=128
	Service string `json:"service"`

	// SourceARN is a Go template, with the values of the stack's template but no references, for the ARN
	// of the resource for which the service assumes the role (aws:SourceArn). The service can then assume
	// it for no other. Without it, the service can assume it for all of its resources in the account. If
	// another object grants access to an object that does not exist yet, the spec in it is empty.
	// https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html#cross-service-confused-deputy-prevention
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	SourceARN string `json:"sourceARN,omitempty"`

	// SourceAccount is whether the service must name the account as that of the resource
	// (aws:SourceAccount): Required, the default, or Any for a service that AWS does not document to name
	// one.
	// +optional
	// +kubebuilder:validation:Enum=Required;Any
	SourceAccount string `json:"sourceAccount,omitempty"`

	// OnlyIf is a Go template, with the same values. An object has the role only if the text that it
	// renders is not empty. Without it, every object of the kind has one.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	OnlyIf string `json:"onlyIf,omitempty"`
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

	// ARN is a Go template for the ARN of the resource, or for several ARNs between which there is white
	// space. If it renders an empty text, the object references no resource.
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

	// ResourceType is the CloudFormation type that this resource must have, for example
	// AWS::SQS::Queue. Set it if the template relies on the form of the physical ID.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	ResourceType string `json:"resourceType,omitempty"`
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

	// Revision is the name of the ModelRevision that objects are to use.
	// +optional
	Revision string `json:"revision,omitempty"`

	// OutdatedObjects is the number of objects that still use another revision, or are being updated to
	// this one.
	// +optional
	OutdatedObjects int32 `json:"outdatedObjects,omitempty"`

	// PinnedObjects is the number of objects whose annotation service-operator.aws/model-revision names a
	// revision. They do not take part in rollouts.
	// +optional
	PinnedObjects int32 `json:"pinnedObjects,omitempty"`

	// Conditions are Ready, which is True when the kind is served; Stalled, which is True when the
	// definition must be corrected; and RolledOut, which is True when the objects use the current
	// revision.
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
