package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
)

// CRD returns the kind's CustomResourceDefinition.
func (m *Model) CRD() *apiextensionsv1.CustomResourceDefinition {
	root := m.rootSchema()
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta: metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{
			Name:   m.Plural + "." + v1alpha1.Group,
			Labels: map[string]string{v1alpha1.Group + "/model": strings.ToLower(m.Kind)},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: v1alpha1.Group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: m.Kind, ListKind: m.Kind + "List", Plural: m.Plural, Singular: strings.ToLower(m.Kind),
				ShortNames: m.ShortNames, Categories: []string{"aws"},
			},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: v1alpha1.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
				},
				AdditionalPrinterColumns: columns(),
			}},
		},
	}
}

// columns are the columns of kubectl get for every modeled kind.
func columns() []apiextensionsv1.CustomResourceColumnDefinition {
	condition := func(kind string) string { return fmt.Sprintf(`.status.conditions[?(@.type==%q)].status`, kind) }
	reason := fmt.Sprintf(`.status.conditions[?(@.type==%q)].reason`, v1alpha1.ConditionReady)
	return []apiextensionsv1.CustomResourceColumnDefinition{
		{Name: "READY", Type: "string", JSONPath: condition(v1alpha1.ConditionReady), Description: "Whether the resource is ready."},
		{Name: "REASON", Type: "string", JSONPath: reason, Description: "Why the resource is ready or not."},
		{Name: "SYNCED", Type: "string", JSONPath: condition(v1alpha1.ConditionSynced), Priority: 1, Description: "Whether AWS matches the spec."},
		{Name: "STATUS", Type: "string", JSONPath: ".status.resourceStatus", Description: "CloudFormation's status of the stack."},
		{
			Name: "DRIFTED", Type: "string", JSONPath: condition(v1alpha1.ConditionDrifted), Priority: 1,
			Description: "Whether a resource was changed outside of CloudFormation.",
		},
		{Name: "STACK", Type: "string", JSONPath: ".status.stackName", Priority: 1, Description: "The name of the stack."},
		{Name: "AGE", Type: "date", JSONPath: ".metadata.creationTimestamp"},
	}
}

// rootSchema wraps the spec's schema with the fields that every modeled kind has.
func (m *Model) rootSchema() *apiextensionsv1.JSONSchemaProps {
	description := m.Description
	if description == "" && m.ResourceType != "" {
		description = fmt.Sprintf("%s is an %s, managed by a CloudFormation stack.", m.Kind, m.ResourceType)
	}
	return &apiextensionsv1.JSONSchemaProps{
		Type:        "object",
		Description: description,
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"apiVersion":          {Type: "string", Description: "The API version of the object."},
			"kind":                {Type: "string", Description: "The kind of the object."},
			"metadata":            {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"name": {Type: "string"}}},
			"spec":                *m.specSchema(),
			"output":              ignoredSchema("output"),
			"additionalResources": ignoredSchema("additionalResources"),
			"status":              m.statusSchema(),
		},
		Required:     m.rootRequired(),
		XValidations: m.rootValidations(),
	}
}

// rootValidations are the rules for the object as a whole.
func (m *Model) rootValidations() apiextensionsv1.ValidationRules {
	var rules apiextensionsv1.ValidationRules
	for _, v := range m.Validations {
		rules = append(rules, apiextensionsv1.ValidationRule{Rule: v.Rule, Message: v.Message, FieldPath: fieldOf(v.Rule)})
	}
	return rules
}

// fieldOf returns the field that the API server names if an object breaks a rule. Without one, it
// would name the field <nil>.
func fieldOf(rule string) string {
	if strings.Contains(rule, "self.metadata.name") {
		return ".metadata.name"
	}
	return ".spec"
}

// rootRequired requires a spec if the spec has required fields.
func (m *Model) rootRequired() []string {
	if len(m.Schema.Required) > 0 {
		return []string{"spec"}
	}
	return nil
}

// specSchema adds the fields that every kind has.
func (m *Model) specSchema() *apiextensionsv1.JSONSchemaProps {
	spec := m.Schema.DeepCopy()
	if spec.Description == "" {
		spec.Description = "The desired state of the resource."
	}
	spec.Nullable = spec.Nullable || len(spec.Required) == 0
	if spec.Properties == nil {
		spec.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
	}
	for name, props := range sharedSchemas() {
		if _, taken := spec.Properties[name]; !taken {
			spec.Properties[name] = props
		}
	}
	if len(m.AccessLevels) > 0 {
		maps.Copy(spec.Properties, m.grantsSchemas())
	}
	requiredFrom(spec)
	return spec
}

func sharedSchemas() map[string]apiextensionsv1.JSONSchemaProps {
	zero, most := 0.0, 100.0
	length, namespaceLength := int64(253), int64(63)
	return map[string]apiextensionsv1.JSONSchemaProps{
		"rollbackCount": {
			Type: "integer", Format: "int32", Minimum: &zero, Maximum: &most,
			Description: "The maximum number of attempts to create a stack. When they are used up, the operator waits for a change of the object. 0, or unset, means 3.",
		},
		"cloudFormationTemplateName": {
			Type: "string", MaxLength: &length,
			Description: "The name of a CloudFormationTemplate to use instead of the kind's own template.",
		},
		"cloudFormationTemplateNamespace": {
			Type: "string", MaxLength: &namespaceLength,
			Description: "The namespace of that CloudFormationTemplate; the object's own if empty.",
		},
		// No default: the API server would write it into objects that users manage elsewhere, such
		// as in Git.
		"updatePolicy": {
			Type: "string", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"Automatic"`)}, {Raw: []byte(`"Manual"`)}},
			Description: "Automatic, the default, applies changes. With Manual, a change of an existing stack waits until the annotation aws-operator/approve contains its digest from status.pendingChanges.",
		},
		WriteToField:    writeToSchema(),
		ValuesFromField: valuesFromSchema(),
	}
}

// ignoredSchema accepts a field of the AWS Service Operator's manifests, whose place is the status.
func ignoredSchema(name string) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{
		Type: "object", XMapType: atomic(), Nullable: true, XPreserveUnknownFields: truePointer(),
		Description: "Ignored. Manifests of the AWS Service Operator may have this field; the operator writes status." + name + ".",
	}
}

func (m *Model) outputSchema() apiextensionsv1.JSONSchemaProps {
	out := apiextensionsv1.JSONSchemaProps{
		Type: "object", XMapType: atomic(),
		Description: "The outputs of the stack, once it is complete.",
		Properties:  map[string]apiextensionsv1.JSONSchemaProps{},
	}
	for _, o := range m.Outputs {
		props := apiextensionsv1.JSONSchemaProps{Type: "string", Description: o.Description}
		if o.Number {
			// Strings are accepted too: CloudFormation's outputs are texts, and one may be empty.
			props = apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: truePointer(), Description: o.Description}
			if o.Integer {
				props = apiextensionsv1.JSONSchemaProps{XIntOrString: true, Description: o.Description}
			}
		}
		out.Properties[o.Name] = props
	}
	if len(out.Properties) == 0 {
		out.XPreserveUnknownFields = truePointer()
	}
	return out
}

func additionalSchema() apiextensionsv1.JSONSchemaProps {
	names := func(kind string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{
			Type: "array", Description: "Names of " + kind + ".",
			Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}},
		}
	}
	return apiextensionsv1.JSONSchemaProps{
		Type: "object", XMapType: atomic(),
		Description: "The objects that the operator created from the outputs, in the object's namespace.",
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"configMaps": names("ConfigMaps"), "services": names("Services"), "secrets": names("Secrets"),
		},
	}
}

// atomic makes a map have one owner. Only the operator writes these maps, so they need no managed
// fields for each of their fields: those would be larger than the fields, and cost the API server
// time on every write.
func atomic() *string {
	kind := "atomic"
	return &kind
}

func (m *Model) statusSchema() apiextensionsv1.JSONSchemaProps {
	text := func(description string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "string", Description: description}
	}
	return apiextensionsv1.JSONSchemaProps{
		Type: "object", XMapType: atomic(), Nullable: true, Description: "The last observed state.",
		// kstatus, and so Flux, takes an object without a status for one that is up to date.
		Default: &apiextensionsv1.JSON{Raw: []byte(`{"observedGeneration":-1}`)},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"resourceStatus":       text("The status of the stack in CloudFormation."),
			"resourceStatusReason": text("The reason of that status."),
			"stackID":              text("The ARN of the stack."),
			"stackName":            text("The name of the stack."),
			"output":               m.outputSchema(),
			"additionalResources":  additionalSchema(),
			"outputDigest":         text("A short hash of the output as the operator wrote it."),
			"observedGeneration":   {Type: "integer", Format: "int64", Description: "The generation that this status is for."},
			"modelRevision":        text("The ModelRevision that the object uses."),
			"previousModelRevision": text(
				"The ModelRevision that the object used before, until it is ready with modelRevision."),
			"stack": {
				Type:                   "object",
				XPreserveUnknownFields: truePointer(),
				Description:            "The operator's record of the stack. Its format is internal.",
			},
			"conditions":     conditionsSchema(),
			"pendingChanges": pendingSchema(),
			"grants":         grantStatusSchema(),
			"drift":          driftSchema(),
		},
	}
}

func pendingSchema() apiextensionsv1.JSONSchemaProps {
	text := func(description string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "string", Description: description}
	}
	list := func(description string, item apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{
			Type: "array", Description: description, XListType: atomic(), Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item},
		}
	}
	change := apiextensionsv1.JSONSchemaProps{
		Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"resource":    text("The resource's logical ID."),
			"type":        text("The resource's CloudFormation type."),
			"physicalID":  text("The resource's name in AWS, if any."),
			"action":      text("CloudFormation's action: Add, Modify, Remove, Import or Dynamic."),
			"replacement": text("Whether a modification replaces the resource: True, False or Conditional."),
			"properties":  list("The paths of the changed properties.", apiextensionsv1.JSONSchemaProps{Type: "string"}),
			"warning":     text("The data loss that the change causes, if any."),
		},
	}
	return list("Changes that wait for approval.", apiextensionsv1.JSONSchemaProps{
		Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"stack":   text("The name of the stack."),
			"digest":  text("The digest of exactly this change. To approve the change, set the annotation aws-operator/approve to it."),
			"summary": text("A summary of the change, data loss first."),
			"changes": list("The changes of the resources.", change),
		},
	})
}

func driftSchema() apiextensionsv1.JSONSchemaProps {
	text := func(description string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "string", Description: description}
	}
	number := func(description string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "integer", Format: "int32", Description: description}
	}
	list := func(description string, properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{
			Type: "array", Description: description, XListType: atomic(),
			Items: &apiextensionsv1.JSONSchemaPropsOrArray{
				Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties},
			},
		}
	}
	return apiextensionsv1.JSONSchemaProps{
		Type: "object", Description: "What the last check for drift found.", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"checkedAt": {Type: "string", Format: "date-time", Description: "When the last check ended that has a result."},
			"resources": list("The resources that differ from the template, at most 10.", map[string]apiextensionsv1.JSONSchemaProps{
				"resource":   text("The resource's logical ID."),
				"type":       text("The resource's CloudFormation type."),
				"physicalID": text("The resource's name in AWS."),
				"state":      text("Modified or Deleted."),
				"properties": list("The properties that differ, at most 30 in all resources.", map[string]apiextensionsv1.JSONSchemaProps{
					"path":       text("The path of the property."),
					"difference": text("CloudFormation's difference: NOT_EQUAL, REMOVE or ADD."),
					"expected":   text("The value in the template. **** stands for a value that is or may be secret."),
					"actual":     text("The value in AWS. **** stands for a value that is or may be secret."),
				}),
				"omitted": number("The number of further properties that differ."),
			}),
			"omitted": number("The number of further resources that differ."),
			"record": {
				Type: "object", XPreserveUnknownFields: truePointer(), Description: "The operator's record of the checks. Its format is internal.",
			},
		},
	}
}

func conditionsSchema() apiextensionsv1.JSONSchemaProps {
	listType := "map"
	condition := apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"lastTransitionTime", "message", "reason", "status", "type"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"type": {Type: "string", Description: "Ready, Synced, Stalled, Reconciling, Drifted or ReferencesResolved."},
			"status": {
				Type:        "string",
				Enum:        []apiextensionsv1.JSON{{Raw: []byte(`"True"`)}, {Raw: []byte(`"False"`)}, {Raw: []byte(`"Unknown"`)}},
				Description: "Whether the condition holds.",
			},
			"reason":             {Type: "string", Description: "The reason of the status, in CamelCase."},
			"message":            {Type: "string", Description: "The reason of the status, as a sentence, and what to do about it."},
			"lastTransitionTime": {Type: "string", Format: "date-time", Description: "When the status last changed."},
			"observedGeneration": {Type: "integer", Format: "int64", Description: "The generation that the condition is for."},
		},
	}
	return apiextensionsv1.JSONSchemaProps{
		Type: "array", Description: "The conditions of the object.",
		XListType: &listType, XListMapKeys: []string{"type"},
		Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &condition},
	}
}

// checkStructural validates the schema as the API server would.
func (m *Model) checkStructural() error {
	for _, name := range slices.Sorted(maps.Keys(m.Schema.Properties)) {
		if slices.Contains(sharedFields, name) {
			return problem(m.Name, "spec.schema", name+" is a field that every kind has; remove it")
		}
		if (name == GrantsField || name == ObjectGrantsField) && len(m.AccessLevels) > 0 {
			return problem(m.Name, "spec.schema", name+" is a field that every kind with accessLevels has; rename it, or remove accessLevels")
		}
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(m.rootSchema(), internal, nil); err != nil {
		return problem(m.Name, "spec.schema", err.Error())
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return problem(m.Name, "spec.schema", err.Error())
	}
	if problems := structuralschema.ValidateStructural(nil, structural); len(problems) > 0 {
		all := problem(m.Name, "spec.schema", problems[0].Error())
		for _, p := range problems[1:] {
			all = append(all, problem(m.Name, "spec.schema", p.Error())...)
		}
		return all
	}
	return nil
}
