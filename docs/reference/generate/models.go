package main

import (
	"bytes"
	"fmt"

	"github.com/aws-operator/aws-operator/api/service/v1alpha1"
)

const modelsHead = `# ModelDefinition reference

This page lists the fields of ModelDefinition, and what its templates may use. ` + "`make generate`" + ` writes the tables of fields from the
CustomResourceDefinition; ` + "`kubectl explain modeldefinition`" + ` shows the same. The guide has [an example](../guide/README.md#add-a-kind), and
the built-in kinds in ` + "`internal/service/catalog`" + ` are ModelDefinitions too.

Group and version: ` + "`service-operator.aws/v1alpha1`" + `.
`

const modelsTail = `
## Templates

` + "`spec.template`" + ` and all other texts with ` + "`{{ … }}`" + ` are Go [text templates](https://pkg.go.dev/text/template). They may use these values:

| value | content | where |
| --- | --- | --- |
| ` + "`.name`, `.namespace`, `.kind`" + ` | of the object | everywhere |
| ` + "`.spec.FIELD`" + ` | a field of the object's spec; nothing if it is not set | everywhere |
| ` + "`.region`, `.accountID`, `.partition`, `.dnsSuffix`" + ` | of the stack: ` + "`eu-west-1`, `123456789012`, `aws`, `amazonaws.com`" + ` | everywhere |
| ` + "`.clusterName`" + ` | the operator's name in the account | everywhere |
| ` + "`.references.NAME.OUTPUT`, `.references.NAME.name`, `.references.NAME.spec`" + ` | an output, the name and the spec of a referenced object; ` + "`.references.NAME`" + ` is empty if the object references none | ` + "`template`, `parameters`, `additionalResources`" + ` |
| ` + "`.siblings.NAME`" + ` | a list of the references of all objects of the kind that share the referenced object or the foreign resource | ` + "`template`, `parameters`, `additionalResources`" + ` |
| ` + "`.output.NAME`" + ` | an output of the stack | ` + "`additionalResources`" + ` |
| ` + "`.services.ID`" + ` | the name of a Service that was made | ` + "`configMaps`, `secrets`" + ` |

Besides [the functions of Go](https://pkg.go.dev/text/template#hdr-Functions), there are:

| function | result |
| --- | --- |
| ` + "`default FALLBACK VALUE`" + ` | the value, or the fallback if the value is not set or empty |
| ` + "`set VALUE`" + ` | whether the value is set and not empty; 0 and false count as set |
| ` + "`get \"a.b\" MAP`" + ` | the value at a path, or nothing if a part of the path is not set |
| ` + "`positive VALUE`" + ` | whether the value is a number greater than zero |
| ` + "`split VALUE`" + ` | a comma-separated text as a list without blanks |
| ` + "`join SEPARATOR LIST`" + ` | the elements as one text |
| ` + "`collect \"a.b\" LIST`" + ` | the distinct values at a path of the elements of a list |
| ` + "`lower`, `upper`, `replace FROM TO`, `trimSuffix SUFFIX`" + ` | the changed text, which is the last argument |
| ` + "`hasPrefix PREFIX`, `hasSuffix SUFFIX`, `contains PART`" + ` | whether the text, which is the last argument, has the part |
| ` + "`properties .spec`" + ` | the spec under CloudFormation's names, in a definition with ` + "`resourceType`" + ` |
| ` + "`principal ENTRY $`, `condition ENTRY $`" + ` | the ` + "`Principal` and the `Condition`" + ` of a policy's statement for ` + "`{account}`, `{organization}`, `{service, sourceARN}` or `{kind, name}`" + `; an account has no condition |
| ` + "`refuse FORMAT VALUE …`" + ` | none: the operator refuses the object with this message, which is formatted as by ` + "`printf`" + ` |
| ` + "`named PROPERTY NAME PROPERTIES`" + ` | the properties, with a name for a property that is not set |

**The template of the stack** is YAML. The operator quotes every value that it inserts, so an interpolation stands for a whole value of
the YAML. To join values with text, use ` + "`printf`" + `: ` + "`{{ printf \"%s-logs\" .name }}`" + `. A value that is not set must not be inserted: put the
line between ` + "`{{ with .spec.FIELD }}` and `{{ end }}`" + `.

**ConfigMaps, Secrets and Services** never contain an empty text in place of a missing value. If a text prints a value that is not set,
the object waits with the reason ` + "`ValueMissing`" + ` and the name of the value. Write ` + "`{{ default \"\" .output.NAME }}`" + ` if the value is
optional. A Service whose ` + "`externalName`" + ` has no value is not made, and one whose ` + "`port`" + ` has none has no port.

## Outputs

The output of an object has the fields in ` + "`spec.outputs`" + `. If these are empty, the operator derives them:

- With ` + "`spec.template`" + `, they are the outputs of the template. An output ` + "`QueueURL`" + ` becomes the field ` + "`queueURL`" + `.
- With only ` + "`spec.resourceType`" + `, they are the identifier, its parts and the ARN of the resource, which every resource of the type has, and those that the
  texts of ` + "`spec.additionalResources`" + ` use.

To publish other attributes, list all outputs. The attributes are under "Return values" on AWS's page of the type, which ` + "`kubectl explain KIND.spec`" + `
names. The attribute ` + "`Endpoint.Address`" + ` is the output ` + "`endpointAddress`" + `; ` + "`from`" + ` gives it another name:

` + "```yaml" + `
apiVersion: service-operator.aws/v1alpha1
kind: ModelDefinition
metadata: {name: databases}
spec:
  kind: Database
  resourceType: AWS::RDS::DBInstance
  outputs:
  - {name: dbInstanceIdentifier}
  - {name: dbInstanceArn}
  - {name: host, from: EndpointAddress}
  - {name: port, from: EndpointPort, type: Integer}
` + "```" + `

AWS sets some attributes only if a feature is on. ` + "`masterUserSecretSecretArn`" + `, for example, needs ` + "`manageMasterUserPassword: true`" + `. A stack with an
output that reads a missing attribute fails with "Attribute 'MasterUserSecret.SecretArn' does not exist", and is rolled back. The condition of
the object names the output. Remove the output from the definition, or set the fields that the attribute needs.

## Checks

The operator checks a definition when it is applied. A definition with a mistake is ` + "`Stalled`" + ` with the reason ` + "`InvalidModel`" + `; the message has
the field, line and column, and what was probably meant. Objects of a definition that was served before keep the last correct version
until the operator restarts.

- Every name in a template exists: ` + "`.spec.FIELD`" + ` in the schema, ` + "`.output.NAME`" + ` in the outputs, ` + "`.references.NAME`" + ` in the references.
- The template has no unknown resource types, properties, references or attributes, no missing properties, and no values that AWS refuses.
  The operator renders it with sample values of the schema: with all optional fields, with none, and with each value of an enum. It reports
  a problem if no sample avoids it. A problem that depends on values is reported for the object that has them.
- Every output in ` + "`spec.outputs`" + ` is an output of the template.

## Change a definition

` + "`aws-operator plan --state k8s -f definition.yaml`" + ` shows what a changed definition changes in all objects of its kind in the management cluster,
before it is applied. AWS is asked only about stacks that the operator's records do not describe.

A changed definition reaches the objects that exist in stages:

- ` + "`spec.rollout.maxConcurrent`" + ` objects are updated at the same time, 10% by default. Each update is subject to the object's ` + "`updatePolicy`" + ` and its
  policy for losses.
- The rollout stops at the first object whose update fails. ` + "`kubectl describe modeldefinition`" + ` names it in the condition ` + "`RolledOut`" + `. The rollout
  goes on when that object is ready or deleted, or when the definition changes.
- ` + "`spec.rollout.paused: true`" + ` holds the change back from further objects.
- To go back, apply the previous definition. Objects whose update failed are first; those that had not changed yet stay as they are.

New objects, and those without a stack, use the current definition at once. Objects of a definition with a mistake keep the last correct version.

A version of a definition is a ` + "`ModelRevision`" + ` (` + "`kubectl get modelrevisions`" + `), which exists as long as an object uses it. ` + "`status.revision`" + ` of the
definition names the current one, and ` + "`status.modelRevision`" + ` of an object the one that it uses. The same definition always has the same revision.
While an object uses an older revision, the kind keeps the fields of that one, too.

To keep one object at its revision, set its annotation before you change the definition. ` + "`plan`" + ` and rollouts leave the object out, and
` + "`status.pinnedObjects`" + ` counts it:

` + "```console" + `
$ kubectl get mailbox orders -o jsonpath='{.status.modelRevision}'
mailboxes-4be0a1c7d2
$ kubectl annotate mailbox orders service-operator.aws/model-revision=mailboxes-4be0a1c7d2
` + "```" + `

Several operators, each for some namespaces, share a definition: each updates up to ` + "`maxConcurrent`" + ` objects less those that any of them updates.
An operator that finds objects of an older version of itself, which had no revisions, gives them the current one at once. Rollouts have only
run against the simulator so far.

## Test cases

` + "`aws-operator model test -f FILE`" + ` runs the cases of manifests of kind ` + "`ModelTest`" + ` against the simulator, each in an account of its own. The
[example](../../examples/webservice/tests.yaml) tests the kind of [another one](../../examples/webservice/definition.yaml).

| field of ` + "`spec`" + ` | |
| --- | --- |
| ` + "`cases[].name`" + ` | The name of the case, which the command prints. |
| ` + "`cases[].steps[].objects`" + ` | Objects to apply in this order. A step that names an object again changes it. |
| ` + "`cases[].steps[].expect.resources`" + ` | Properties of the resources in the stack of the last object, by logical ID. A resource may have further properties. ` + "`null`" + `: there is no such resource. |
| ` + "`cases[].steps[].expect.output`" + ` | Fields of the output of the last object. |
| ` + "`cases[].steps[].expect.replaces`" + ` | The logical IDs of the resources that the step replaces. All others must stay. |
| ` + "`cases[].steps[].refused`" + ` | A part of the message with which the last object is refused; the step has no ` + "`expect`" + `. |
`

// writeModels describes ModelDefinition.
func writeModels(page *bytes.Buffer) error {
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		return fmt.Errorf("read the kinds of services: %w", err)
	}
	page.WriteString(modelsHead)
	for _, crd := range crds {
		if crd.Spec.Names.Kind == "ModelDefinition" || crd.Spec.Names.Kind == "ModelRevision" {
			writeCRD(page, crd)
		}
	}
	page.WriteString(modelsTail)
	return nil
}
