package controller_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/service/catalog"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
)

const goodQueue = "{kind: SQSQueue, metadata: {name: good}, spec: {visibilityTimeout: 30}}"

func badQueue(annotation, value string) string {
	return fmt.Sprintf("{kind: SQSQueue, metadata: {name: bad, annotations: {%s: %q}}, spec: {visibilityTimeout: 30}}", annotation, value)
}

func annotated(annotation, value string) string {
	return fmt.Sprintf("{metadata: {annotations: {%s: %q}}}", annotation, value)
}

// badQueues are the rows of the fields and annotations that every kind has.
var badQueues = []badInput{
	{
		field: v1alpha1.DeletionPolicyAnnotation, made: badQueue(v1alpha1.DeletionPolicyAnnotation, "retian"), deletes: true,
		condition: "Stalled", reason: "UnknownDeletionPolicy", want: []string{v1alpha1.DeletionPolicyAnnotation, `is "retian"; set it to retain, snapshot or delete`},
	},
	{
		field: v1alpha1.AdoptAnnotation, made: badQueue(v1alpha1.AdoptAnnotation, "someones"),
		condition: "Stalled", reason: "AdoptionNotAllowed", want: []string{v1alpha1.AdoptAnnotation, "remove the annotation, or have an administrator"},
	},
	{
		field:     v1alpha1.AdoptionPolicyAnnotation,
		made:      "{kind: SQSQueue, metadata: {name: bad, annotations: {" + v1alpha1.AdoptAnnotation + ": bad, " + v1alpha1.AdoptionPolicyAnnotation + ": Steal}}, spec: {}}",
		condition: "Stalled", reason: "UnknownAdoptionPolicy", want: []string{v1alpha1.AdoptionPolicyAnnotation, "set it to Adopt or AdoptOrCreate"},
	},
	{
		field: v1alpha1.ManagementPolicyAnnotation, change: annotated(v1alpha1.ManagementPolicyAnnotation, "Look"),
		condition: "Stalled", reason: "UnknownManagementPolicy", want: []string{v1alpha1.ManagementPolicyAnnotation, "set it to Manage or Observe"},
	},
	{
		field: v1alpha1.ManagementPolicyAnnotation, change: annotated(v1alpha1.ManagementPolicyAnnotation, "Observe"),
		condition: "Stalled", reason: "HasStack", want: []string{v1alpha1.ManagementPolicyAnnotation, "remove the annotation"},
	},
	{
		field: v1alpha1.ManagementPolicyAnnotation, made: badQueue(v1alpha1.ManagementPolicyAnnotation, "Observe"),
		condition: "Stalled", reason: "NothingToObserve", want: []string{v1alpha1.ManagementPolicyAnnotation, v1alpha1.AdoptAnnotation, "add it"},
	},
	{
		field: v1alpha1.DriftPolicyAnnotation, change: annotated(v1alpha1.DriftPolicyAnnotation, "Undo"),
		condition: "Drifted", reason: "UnknownDriftPolicy", want: []string{v1alpha1.DriftPolicyAnnotation, "set it to Report, Revert or Ignore"},
	},
	{
		field: v1alpha1.IgnoreDriftAnnotation, change: annotated(v1alpha1.IgnoreDriftAnnotation, "Que ue"),
		condition: "Drifted", reason: "InvalidIgnoreDrift", want: []string{v1alpha1.IgnoreDriftAnnotation, "such as Queue/VisibilityTimeout"},
	},
	{
		field: v1alpha1.AllowAnnotation, change: "{metadata: {annotations: {" + v1alpha1.AllowAnnotation + ": replce}}, spec: {fifoQueue: true}}",
		condition: "Stalled", reason: "RefusedByPolicy", want: []string{"FifoQueue", v1alpha1.AllowAnnotation + ": replace"},
	},
	{
		field:     stack.ApproveAnnotation,
		change:    "{metadata: {annotations: {" + stack.ApproveAnnotation + ": \"1234\"}}, spec: {visibilityTimeout: 31, updatePolicy: Manual}}",
		condition: "Ready", reason: stack.ReasonApprovalNeeded,
		want: []string{"The annotation " + stack.ApproveAnnotation + " does not have its digest", "kubectl annotate --overwrite"},
	},
	{
		field: v1alpha1.PausedAnnotation, change: annotated(v1alpha1.PausedAnnotation, "yes"),
		condition: "Synced", reason: "Paused", want: []string{v1alpha1.PausedAnnotation, "is removed"},
	},
	{
		field:     v1alpha1.ShareWithAnnotation,
		change:    `{spec: {valuesFrom: [{field: delaySeconds, configMapKeyRef: {name: unshared, namespace: OTHER, key: five}}]}}`,
		condition: "Ready", reason: "SourceNotFound", want: []string{v1alpha1.ShareWithAnnotation, "create it, or add what is missing"},
	},
	{field: "spec.rollbackCount", change: `{spec: {rollbackCount: 101}}`, want: []string{"spec.rollbackCount", "less than or equal to 100"}},
	{
		field: "spec.cloudFormationTemplateName", change: `{spec: {cloudFormationTemplateName: missing}}`,
		condition: "Ready", reason: "TemplateNotFound", want: []string{"spec.cloudFormationTemplateName", "create it, or correct the name"},
	},
	{
		field: "spec.cloudFormationTemplateNamespace", change: `{spec: {cloudFormationTemplateName: missing, cloudFormationTemplateNamespace: nowhere}}`,
		condition: "Ready", reason: "TemplateNotShared", want: []string{"spec.cloudFormationTemplateNamespace", "use one of their own namespace"},
	},
	{field: "spec.updatePolicy", change: `{spec: {updatePolicy: Sometimes}}`, want: []string{"spec.updatePolicy", `supported values: "Automatic", "Manual"`}},
	{field: "spec.writeTo[].kind", change: `{spec: {writeTo: [{kind: Pod, name: a}]}}`, want: []string{"spec.writeTo[0].kind", `supported values: "ConfigMap", "Secret"`}},
	{field: "spec.writeTo[].name", change: `{spec: {writeTo: [{kind: Secret, name: "A B"}]}}`, want: []string{"spec.writeTo[0].name", "should match"}},
	{
		field: "spec.writeTo[].data", change: `{spec: {writeTo: [{kind: Secret, name: a, data: {"a b": c}}]}}`,
		want: []string{"spec.writeTo[0].data", "a key consists of"},
	},
	{
		field: "spec.writeTo[].data", change: `{spec: {writeTo: [{kind: Secret, name: a, data: {url: "{{ .output.queueURI }}"}}]}}`,
		condition: "Stalled", reason: "InvalidWriteTo", want: []string{"spec.writeTo[0].data.url", "did you mean"},
	},
	{
		field: "spec.valuesFrom[].field", change: `{spec: {valuesFrom: [{field: delaySecond, configMapKeyRef: {name: settings, key: five}}]}}`,
		condition: "Stalled", reason: "InvalidValue", want: []string{"spec.valuesFrom[0].field", "did you mean delaySeconds?"},
	},
}

// badReferences returns the rows of the sources of values.
func badReferences() (rows []badInput) {
	for _, c := range []struct{ source, kind string }{{"configMapKeyRef", "ConfigMap"}, {"secretKeyRef", "Secret"}} {
		entry := func(fields string) string {
			return fmt.Sprintf(`{spec: {valuesFrom: [{field: delaySeconds, %s: {%s}}]}}`, c.source, fields)
		}
		path, at := "spec.valuesFrom[]."+c.source, "spec.valuesFrom[0]."+c.source
		rows = append(rows,
			badInput{
				field: path + ".name", change: entry("name: missing, key: five"),
				condition: "Ready", reason: "SourceNotFound", want: []string{at, "create it"},
			},
			badInput{field: path + ".name", change: entry(`name: "A B", key: five`), want: []string{at + ".name", "should match"}},
			badInput{field: path + ".namespace", change: entry("name: settings, namespace: A, key: five"), want: []string{at + ".namespace", "should match"}},
			badInput{field: path + ".key", change: entry("name: settings, key: six"), condition: "Ready", reason: "ValueNotFound", want: []string{at, "has no key six; correct the name, or add it"}},
		)
	}
	entry := func(fields string) string {
		return fmt.Sprintf(`{spec: {valuesFrom: [{field: kmsKeyID, valueFrom: {%s}}]}}`, fields)
	}
	return append(rows,
		badInput{
			field: "spec.valuesFrom[].valueFrom.kind", change: entry("kind: Nothing, name: a, output: b"),
			condition: "Ready", reason: "KindNotServed", want: []string{"spec.valuesFrom[0].valueFrom", "apply a ModelDefinition for it, or correct the kind"},
		},
		badInput{
			field: "spec.valuesFrom[].valueFrom.name", change: entry("kind: SQSQueue, name: missing, output: queueName"),
			condition: "Ready", reason: "ReferenceNotFound", want: []string{"spec.valuesFrom[0].valueFrom", "create it, or correct the name"},
		},
		badInput{
			field: "spec.valuesFrom[].valueFrom.namespace", change: entry("kind: SQSQueue, name: a, namespace: A, output: queueName"),
			want: []string{"spec.valuesFrom[0].valueFrom.namespace", "should match"},
		},
		badInput{
			field: "spec.valuesFrom[].valueFrom.output", change: entry("kind: SQSQueue, name: other, output: queueNam"),
			condition: "Ready", reason: "ValueNotFound", want: []string{"spec.valuesFrom[0].valueFrom", "has no output queueNam; correct the name"},
		},
		badInput{
			field: "spec.grants[].serviceAccount", change: `{spec: {grants: [{serviceAccount: "A B", access: Send}]}}`,
			want: []string{"spec.grants[0].serviceAccount", "should match"},
		},
		badInput{
			field: "spec.grants[].access", change: `{spec: {grants: [{serviceAccount: a, access: Sendd}]}}`,
			want: []string{"spec.grants[0].access", "supported values"},
		},
		badInput{
			field: "spec.objectGrants[].kind", change: `{spec: {objectGrants: [{kind: SNSTopic, name: b, access: Send}]}}`,
			condition: "Stalled", reason: "InvalidGrant", want: []string{"spec.objectGrants", "SNSTopic"},
		},
		badInput{
			field: "spec.objectGrants[].name", change: `{spec: {objectGrants: [{kind: Lambda, name: "A B", access: Send}]}}`,
			want: []string{"spec.objectGrants[0].name", "should match"},
		},
		badInput{
			field: "spec.objectGrants[].access", change: `{spec: {objectGrants: [{kind: Lambda, name: a, access: Sendd}]}}`,
			want: []string{"spec.objectGrants[0].access", "supported values"},
		},
	)
}

// TestBadInputIsRefused gives every field and annotation of every kind a bad value. The refusal names the
// field and the remedy, nothing in AWS changes, and the object keeps its outputs and becomes ready again
// when the value is corrected.
func TestBadInputIsRefused(t *testing.T) {
	w := prepareSuite(t, simulator.Options{Lag: simulator.NoLag}, render.Limits{
		OwnPrefix: "aws-operator-events", TemplateTypes: []string{"AWS::SQS::Queue"},
	})
	w.issuer = "https://oidc.example.com/id/1"
	w.other = controlplanetest.Namespace(t, w.cluster)
	w.startOperator()
	rows := append(slices.Clone(badQueues), badReferences()...)
	complete(t, append(annotationFieldsOfObjects(t), sharedFields(t)...), rows)
	w.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, " + labeled + `}, data: {five: "5"}}`)
	w.apply("{apiVersion: v1, kind: Secret, metadata: {name: settings, " + labeled + `}, stringData: {five: "5"}}`)
	w.apply("{kind: SQSQueue, metadata: {name: other}, spec: {}}")
	w.ready("SQSQueue", "other")
	w.check("SQSQueue", goodQueue, rows)
}

// annotationFieldsOfObjects are the annotations without the one of kinds with revisions.
func annotationFieldsOfObjects(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(annotationFields(t), func(key string) bool { return key == v1alpha1.RevisionAnnotation })
}

// sharedFields are the fields that every kind's spec has.
func sharedFields(t *testing.T) (paths []string) {
	t.Helper()
	all, err := catalog.Models(schema.Default())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.Kind != "SQSQueue" {
			continue
		}
		spec := m.CRD().Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		for _, name := range slices.Sorted(maps.Keys(spec.Properties)) {
			if _, own := m.Schema.Properties[name]; !own {
				property := spec.Properties[name]
				paths = append(paths, leaves("spec."+name, &property)...)
			}
		}
	}
	return paths
}

// goodModel has every part of a definition.
const goodModel = `{kind: ModelDefinition, metadata: {name: good}, spec: {
  kind: Probe, plural: probes, shortNames: [prb], description: A probe.,
  schema: {type: object, properties: {seconds: {type: integer}, ring: {type: string}}},
  template: "Resources: {Queue: {Type: \"AWS::SQS::Queue\", Properties: {DelaySeconds: {{ .spec.seconds | default 1 }}}}}\nOutputs: {Address: {Value: {Ref: Queue}}}",
  outputs: [{name: address, from: Address}],
  references: [{name: ring, kind: EncryptionKey, objectName: "{{ .spec.ring }}", physicalID: keyID}],
  accessLevels: [{name: Read, statements: [{actions: ["sqs:ReceiveMessage"], resources: ["{Fn::GetAtt: [Queue, Arn]}"]}]}]}}`

// badModels are the rows of ModelDefinitions.
var badModels = []badInput{
	{field: "spec.kind", change: "{spec: {kind: probe}}", want: []string{"spec.kind", "should match"}},
	{field: "spec.kind", change: "{spec: {kind: SQSQueue}}", want: []string{"kind cannot change", "create another ModelDefinition"}},
	{field: "spec.plural", change: "{spec: {plural: Probes}}", want: []string{"spec.plural", "should match"}},
	{field: "spec.shortNames", change: "{spec: {shortNames: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v]}}", want: []string{"spec.shortNames", "at most"}},
	{field: "spec.description", change: "{spec: {description: " + strings.Repeat("x", 5000) + "}}", want: []string{"spec.description", "than"}},
	{field: "spec.schema", change: "{spec: {schema: {type: text}}}", condition: "Stalled", reason: "InvalidModel", want: []string{"spec.schema.type", "supported values"}},
	{field: "spec.resourceType", change: "{spec: {resourceType: sqs}}", want: []string{"spec.resourceType", "should match"}},
	{field: "spec.template", change: `{spec: {template: "Resources: {"}}`, condition: "Stalled", reason: "InvalidModel", want: []string{"spec.template:1:1", "malformed YAML"}},
	{field: "spec.capabilities", change: "{spec: {capabilities: [CAPABILITY_ALL]}}", want: []string{"spec.capabilities", "supported values"}},
	{field: "spec.dynamicReferences", change: "{spec: {dynamicReferences: [nothing]}}", condition: "Stalled", reason: "InvalidModel", want: []string{"spec.dynamicReferences", "there is no .spec.nothing"}},
	{field: "spec.parameters", change: `{spec: {parameters: {Seconds: "{{ .spec.second }}"}}}`, condition: "Stalled", reason: "InvalidModel", want: []string{"spec.parameters.Seconds", "did you mean .spec.seconds?"}},
	{field: "spec.executionRole.service", change: "{spec: {executionRole: {service: lambda}}}", want: []string{"spec.executionRole.service", "should match"}},
	{
		field: "spec.executionRole.sourceARN",
		made: `{kind: ModelDefinition, metadata: {name: bad}, spec: {kind: Sonde, plural: sondes, schema: {type: object, properties: {seconds: {type: integer}}},
  template: "Resources: {Queue: {Type: \"AWS::SQS::Queue\"}}", executionRole: {service: lambda.amazonaws.com, sourceARN: "{{ .spec.second }}"}}}`,
		condition: "Stalled", reason: "InvalidModel", want: []string{"spec.executionRole.sourceARN", "did you mean .spec.seconds?"},
	},
	{
		field: "spec.executionRole.sourceAccount", change: "{spec: {executionRole: {service: lambda.amazonaws.com, sourceAccount: None}}}",
		want: []string{"spec.executionRole.sourceAccount", "supported values"},
	},
	{
		field: "spec.executionRole.onlyIf",
		made: `{kind: ModelDefinition, metadata: {name: bad}, spec: {kind: Sonde, plural: sondes, schema: {type: object, properties: {seconds: {type: integer}}},
  template: "Resources: {Queue: {Type: \"AWS::SQS::Queue\"}}", executionRole: {service: lambda.amazonaws.com, onlyIf: "{{ .spec.second }}"}}}`,
		condition: "Stalled", reason: "InvalidModel", want: []string{"spec.executionRole.onlyIf", "did you mean .spec.seconds?"},
	},
	{field: "spec.rollout.maxConcurrent", change: `{spec: {rollout: {maxConcurrent: "many"}}}`, want: []string{"spec.rollout: Invalid value: maxConcurrent", "or a percentage such as 10%"}},
	{field: "spec.validations[].rule", change: `{spec: {validations: [{rule: "self.", message: wrong}]}}`, condition: "Stalled", reason: "InvalidModel", want: []string{"spec.validations[0].rule", "Syntax error"}},
	{field: "spec.validations[].message", change: `{spec: {validations: [{rule: "true", message: "` + strings.Repeat("x", 3000) + `"}]}}`, want: []string{"spec.validations[0].message", "than"}},
	{field: "spec.outputs[].name", change: `{spec: {outputs: [{name: "a b", from: Address}]}}`, want: []string{"spec.outputs[0].name", "should match"}},
	{field: "spec.outputs[].from", change: `{spec: {outputs: [{name: address, from: Elsewhere}]}}`, condition: "Stalled", reason: "InvalidModel", want: []string{"spec.outputs", "Elsewhere"}},
	{field: "spec.outputs[].type", change: `{spec: {outputs: [{name: address, from: Address, type: text}]}}`, want: []string{"spec.outputs[0].type", "supported values"}},
	{field: "spec.outputs[].description", change: `{spec: {outputs: [{name: address, from: Address, description: 1}]}}`, want: []string{"spec.outputs[0].description", "must be of type string"}},
	{field: "spec.references[].name", change: `{spec: {references: [{name: "a b", kind: EncryptionKey, objectName: x}]}}`, want: []string{"spec.references[0].name", "should match"}},
	{field: "spec.references[].kind", change: `{spec: {references: [{name: ring, kind: key, objectName: x}]}}`, want: []string{"spec.references[0].kind", "should match"}},
	{
		field: "spec.references[].objectName", change: `{spec: {references: [{name: ring, kind: EncryptionKey, objectName: "{{ .spec.rung }}"}]}}`,
		condition: "Stalled", reason: "InvalidModel", want: []string{"spec.references", "rung"},
	},
	{field: "spec.references[].physicalID", change: `{spec: {references: [{name: ring, kind: EncryptionKey, objectName: x, physicalID: ` + strings.Repeat("x", 300) + `}]}}`, want: []string{"spec.references[0].physicalID", "than"}},
	{field: "spec.references[].resourceType", change: `{spec: {references: [{name: ring, kind: EncryptionKey, objectName: x, resourceType: ` + strings.Repeat("x", 300) + `}]}}`, want: []string{"spec.references[0].resourceType", "than"}},
	{field: "spec.foreign[].field", change: `{spec: {foreign: [{field: ` + strings.Repeat("x", 300) + `, arn: "a"}]}}`, want: []string{"spec.foreign[0].field", "than"}},
	{field: "spec.foreign[].arn", change: `{spec: {foreign: [{field: ring, arn: "` + strings.Repeat("x", 3000) + `"}]}}`, want: []string{"spec.foreign[0].arn", "than"}},
	{field: "spec.foreign[].name", change: `{spec: {foreign: [{field: ring, name: "a b"}]}}`, want: []string{"spec.foreign[0].name", "should match"}},
	{field: "spec.accessLevels[].name", change: `{spec: {accessLevels: [{name: "a b", statements: [{actions: ["sqs:SendMessage"], resources: [x]}]}]}}`, want: []string{"spec.accessLevels[0].name", "should match"}},
	{field: "spec.accessLevels[].description", change: `{spec: {accessLevels: [{name: A, description: ` + strings.Repeat("x", 3000) + `, statements: [{actions: ["sqs:SendMessage"], resources: [x]}]}]}}`, want: []string{"spec.accessLevels[0].description", "than"}},
	{
		field: "spec.accessLevels[].statements[].actions", change: `{spec: {accessLevels: [{name: A, statements: [{actions: ["everything"], resources: ["{Fn::GetAtt: [Queue, Arn]}"]}]}]}}`,
		want: []string{"spec.accessLevels[0].statements[0].actions[0]", "should match"},
	},
	{
		field: "spec.accessLevels[].statements[].resources", change: `{spec: {accessLevels: [{name: A, statements: [{actions: ["sqs:SendMessage"], resources: ['"*"']}]}]}}`,
		condition: "Stalled", reason: "InvalidModel", want: []string{"spec.accessLevels[0].statements[0].resources[0]", "name"},
	},
	{
		field: "spec.additionalResources.configMaps[].name", change: `{spec: {additionalResources: {configMaps: [{name: "{{ .nothing }}", data: {a: b}}]}}}`,
		condition: "Stalled", reason: "InvalidModel", want: []string{"spec.additionalResources.configMaps", "nothing"},
	},
	{
		field: "spec.additionalResources.configMaps[].data", change: `{spec: {additionalResources: {configMaps: [{name: a, data: {b: "{{ .output.addresss }}"}}]}}}`,
		condition: "Stalled", reason: "InvalidModel", want: []string{"spec.additionalResources.configMaps", "addresss"},
	},
	{
		field: "spec.additionalResources.secrets[].name", change: `{spec: {additionalResources: {secrets: [{name: "{{ .nothing }}", data: {a: b}}]}}}`,
		condition: "Stalled", reason: "InvalidModel", want: []string{"spec.additionalResources.secrets", "nothing"},
	},
	{
		field: "spec.additionalResources.secrets[].data", change: `{spec: {additionalResources: {secrets: [{name: a, data: {b: "{{ .output.addresss }}"}}]}}}`,
		condition: "Stalled", reason: "InvalidModel", want: []string{"spec.additionalResources.secrets", "addresss"},
	},
	{
		field: "spec.additionalResources.services[].name", change: `{spec: {additionalResources: {services: [{name: "{{ .nothing }}", externalName: a}]}}}`,
		condition: "Stalled", reason: "InvalidModel", want: []string{"spec.additionalResources.services", "nothing"},
	},
	{
		field: "spec.additionalResources.services[].externalName", change: `{spec: {additionalResources: {services: [{name: a, externalName: "{{ .output.addresss }}"}]}}}`,
		condition: "Stalled", reason: "InvalidModel", want: []string{"spec.additionalResources.services", "addresss"},
	},
	{
		field: "spec.additionalResources.services[].port", change: `{spec: {additionalResources: {services: [{name: a, externalName: b, port: "{{ .output.addresss }}"}]}}}`,
		condition: "Stalled", reason: "InvalidModel", want: []string{"spec.additionalResources.services", "addresss"},
	},
	{
		field: "spec.additionalResources.services[].id", change: `{spec: {additionalResources: {services: [{id: "a b", name: a, externalName: b}]}}}`,
		want: []string{"spec.additionalResources.services[0].id", "should match"},
	},
}

// TestBadTemplateIsRefused gives every field of a CloudFormationTemplate a bad value. The object that uses it
// keeps its stack.
func TestBadTemplateIsRefused(t *testing.T) {
	w := prepareSuite(t, simulator.Options{Lag: simulator.NoLag}, render.Limits{TemplateTypes: []string{"AWS::SQS::Queue"}})
	w.startOperator()
	const queue = `{kind: CloudFormationTemplate, metadata: {name: good}, data: {template: "Resources: {Queue: {Type: \"AWS::SQS::Queue\"}}\nOutputs: {` +
		`queueURL: {Value: {Ref: Queue}}, queueARN: {Value: {Fn::GetAtt: [Queue, Arn]}}, queueName: {Value: {Fn::GetAtt: [Queue, QueueName]}}}"}}`
	rows := []badInput{
		{field: "data.template", change: `{data: {template: ""}}`, condition: "Stalled", reason: "TemplateEmpty", want: []string{"data.template", "put a CloudFormation template"}},
		{
			field: "data.template", change: `{data: {template: "Resources: {Queue: {Type: \"AWS::SQS::Queu\"}}"}}`,
			condition: "Stalled", reason: "InvalidTemplate", want: []string{"AWS::SQS::Queu", "did you mean"},
		},
		{
			field: "data.template", change: `{data: {template: "Resources: {"}}`,
			condition: "Stalled", reason: "InvalidTemplate", want: []string{"template", "malformed YAML"},
		},
	}
	data := crdOf(t, "CloudFormationTemplate").Properties["data"]
	complete(t, leaves("data", &data), rows)
	w.apply(queue)
	w.apply("{kind: SQSQueue, metadata: {name: user}, spec: {cloudFormationTemplateName: good}}")
	w.ready("SQSQueue", "user")
	w.check("CloudFormationTemplate", queue, rows)
	w.ready("SQSQueue", "user")
}

// crdOf returns the schema of a kind of the API.
func crdOf(t *testing.T, kind string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	definitions, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range definitions {
		if crd.Spec.Names.Kind == kind {
			return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		}
	}
	t.Fatal("there is no kind " + kind)
	return nil
}

// TestBadDefinitionIsRefused gives every field of a ModelDefinition a bad value: its kind stays served, and
// its object and the stack stay as they are.
func TestBadDefinitionIsRefused(t *testing.T) {
	w := prepareSuite(t, simulator.Options{Lag: simulator.NoLag}, render.Limits{})
	w.issuer = "https://oidc.example.com/id/1"
	w.startOperator()
	spec := crdOf(t, "ModelDefinition").Properties["spec"]
	complete(t, leaves("spec", &spec), badModels)
	w.apply(goodModel)
	w.ready("ModelDefinition", "good")
	w.apply("{kind: Probe, metadata: {name: good}, spec: {}}")
	w.ready("Probe", "good")
	w.check("ModelDefinition", goodModel, badModels)
	w.ready("Probe", "good")
	w.check("Probe", "{kind: Probe, metadata: {name: good}, spec: {}}", []badInput{{
		field: v1alpha1.RevisionAnnotation, change: annotated(v1alpha1.RevisionAnnotation, "good-1"),
		condition: "Stalled", reason: "UnknownModelRevision", want: []string{v1alpha1.RevisionAnnotation, "set it to good-", "or remove it"},
	}})
	w.delete("Probe", "good")
	w.delete("ModelDefinition", "good")
}
