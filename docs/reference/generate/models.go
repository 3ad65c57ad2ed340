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
| ` + "`.references.NAME.OUTPUT`, `.references.NAME.name`" + ` | an output, and the name, of a referenced object; ` + "`.references.NAME`" + ` is empty if the object references none | ` + "`template`, `parameters`, `additionalResources`" + ` |
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
- With only ` + "`spec.resourceType`" + `, they are the identifier and the ARN of the resource, which every resource of the type has, and those that the
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
`

// writeModels describes ModelDefinition.
func writeModels(page *bytes.Buffer) error {
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		return fmt.Errorf("read the kinds of services: %w", err)
	}
	page.WriteString(modelsHead)
	for _, crd := range crds {
		if crd.Spec.Names.Kind == "ModelDefinition" {
			writeCRD(page, crd)
		}
	}
	page.WriteString(modelsTail)
	return nil
}
