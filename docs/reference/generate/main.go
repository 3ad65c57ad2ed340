// Command generate writes docs/reference/kinds.md from the built-in models,
// docs/reference/clusters.md, docs/reference/identities.md and docs/reference/modeldefinition.md from the
// CustomResourceDefinitions, so that the reference always agrees with the API server;
// docs/reference/permissions.md and the policies in config/iam from the calls in the code;
// docs/design/packages.md from the packages' documentation; docs/reference/simulator.md
// from what the simulator supports; docs/reference/assumptions.md from the list of assumptions;
// and docs/reference/rights.md from what an API server answers in a test of config/operator.yaml.
package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/catalog"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

//go:generate go run . ../kinds.md ../clusters.md ../permissions.md ../../../config/iam ../../design/packages.md ../simulator.md ../modeldefinition.md ../assumptions.md ../rights.md ../identities.md

const head = `# Service kinds reference

This page lists the fields of the built-in service kinds. ` + "`make generate`" + ` writes it from the models; ` + "`kubectl explain`" + ` shows the same.

Group and version: ` + "`service-operator.aws/v1alpha1`" + `. All kinds are namespaced and in the category ` + "`aws`" + ` (` + "`kubectl get aws`" + `). The resource
in AWS has the object's name.

Every kind also has these fields of ` + "`spec`" + `, and the same [status](status.md):

- ` + "`rollbackCount`" + `: how many times the creation of a stack is attempted; 3 when it is 0.
- ` + "`updatePolicy`" + `: with ` + "`Manual`" + `, changes wait for [approval](../guide/approval.md).
- ` + "`cloudFormationTemplateName`" + ` and ` + "`cloudFormationTemplateNamespace`" + `: a CloudFormationTemplate that replaces the kind's own template.
- ` + "`writeTo`" + `: [ConfigMaps and Secrets](../guide/README.md#choose-where-outputs-go) with names and keys of your choice for the outputs.
- ` + "`valuesFrom`" + `: [values of other fields](../guide/README.md#take-values-from-elsewhere) from outputs, ConfigMaps and Secrets.

The kinds of clusters are on [a page of their own](clusters.md).
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 10 {
		return fmt.Errorf("usage: generate KINDS CLUSTERS PERMISSIONS FOLDER PACKAGES SIMULATOR MODELDEFINITION ASSUMPTIONS RIGHTS IDENTITIES")
	}
	models, err := catalog.Models(schema.Default())
	if err != nil {
		return fmt.Errorf("read the catalog: %w", err)
	}
	var page bytes.Buffer
	page.WriteString(head)
	for _, m := range models {
		write(&page, m)
	}
	page.WriteString(`
## CloudFormationTemplate

Short names: ` + "`cft`, `cfts`, `cfn`, `cfns`, `cloudformation`" + `. ` + "`data.template`" + ` is a CloudFormation template that
objects can use in place of their kind's own, and ` + "`data.key`" + ` is its name in messages. The operator validates it when it is
applied. The template stays in the cluster: nothing is uploaded. ` + "`output.url`" + ` is its URL at the API server.

The template receives these parameters, if it declares them: ` + "`Namespace`, `ResourceVersion`, `ResourceName`," + `
` + "`ClusterName`" + `, and the fields of the object's spec in PascalCase.
`)
	if err := save(args[0], &page); err != nil {
		return err
	}
	page.Reset()
	if err := writeClusters(&page); err != nil {
		return err
	}
	if err := save(args[1], &page); err != nil {
		return err
	}
	page.Reset()
	if err := writePermissions(
		&page, args[3], "../../../internal/cli/trial/testdata/mutations.json", "../../../test/permissions/testdata/mutations.json",
		"../../../test/terminal/testdata/mutations.json",
	); err != nil {
		return err
	}
	if err := save(args[2], &page); err != nil {
		return err
	}
	page.Reset()
	if err := writePackages(&page, "../../.."); err != nil {
		return err
	}
	if err := save(args[4], &page); err != nil {
		return err
	}
	page.Reset()
	if err := writeSimulator(&page); err != nil {
		return err
	}
	if err := save(args[5], &page); err != nil {
		return err
	}
	page.Reset()
	if err := writeModels(&page); err != nil {
		return err
	}
	if err := save(args[6], &page); err != nil {
		return err
	}
	page.Reset()
	writeAssumptions(&page)
	if err := save(args[7], &page); err != nil {
		return err
	}
	page.Reset()
	if err := writeRights(&page, "../../../config/testdata/rights.md"); err != nil {
		return err
	}
	if err := save(args[8], &page); err != nil {
		return err
	}
	page.Reset()
	if err := writeIdentities(&page); err != nil {
		return err
	}
	return save(args[9], &page)
}

func save(file string, page *bytes.Buffer) error {
	if err := os.WriteFile(file, page.Bytes(), 0o644); err != nil { //nolint:gosec // A page of documentation is for everybody.
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// write describes one kind.
func write(page *bytes.Buffer, m *model.Model) {
	fmt.Fprintf(page, "\n## %s\n\n%s\n\nShort names: %s.\n", m.Kind, m.Description, code(m.ShortNames))
	if len(m.Schema.Properties) > 0 {
		page.WriteString("\n| field of `spec` | type | |\n| --- | --- | --- |\n")
		fields(page, "", m.Schema)
	}
	page.WriteString("\n| field of `output` | |\n| --- | --- |\n")
	for _, output := range m.Outputs {
		fmt.Fprintf(page, "| `%s` | %s |\n", output.Name, output.Description)
	}
	var makes, optional []string
	for _, c := range m.ConfigMaps {
		makes = append(makes, "a ConfigMap with "+code(slices.Sorted(maps.Keys(c.Values))))
		for _, key := range slices.Sorted(maps.Keys(c.Values)) {
			if strings.HasPrefix(c.Values[key].Source(), `{{ default "" `) {
				optional = append(optional, key)
			}
		}
	}
	for _, s := range m.Secrets {
		makes = append(makes, "a Secret with "+code(slices.Sorted(maps.Keys(s.Values))))
	}
	for range m.Services {
		makes = append(makes, "an ExternalName Service")
	}
	if len(makes) > 0 {
		fmt.Fprintf(page, "\nCreates %s.\n", strings.Join(makes, ", and "))
	}
	if len(optional) > 0 {
		fmt.Fprintf(page, "These keys of the ConfigMap are empty if the object has no such output: %s.\n", code(optional))
	}
	var waits []string
	for _, reference := range m.References {
		waits = append(waits, reference.Kind)
	}
	if len(waits) > 0 {
		fmt.Fprintf(page, "\nWaits for the %s that it names.\n", strings.Join(waits, " and the "))
	}
}

// fields describes the properties of a schema, and those below them and in the elements of lists.
func fields(page *bytes.Buffer, path string, s *apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		kind := property.Type
		if len(property.Enum) > 0 {
			kind = enum(property.Enum)
		}
		if property.Minimum != nil && property.Maximum != nil {
			kind += fmt.Sprintf(", %.0f to %.0f", *property.Minimum, *property.Maximum)
		}
		if slices.Contains(s.Required, name) {
			kind += ", required"
		}
		fmt.Fprintf(page, "| `%s%s` | %s | %s |\n", path, name, kind, property.Description)
		fields(page, path+name+".", &property)
		if property.Items != nil && property.Items.Schema != nil {
			fields(page, path+name+"[].", property.Items.Schema)
		}
	}
}

// enum lists the string values of an enum, without the empty one, which old manifests use.
func enum(values []apiextensionsv1.JSON) string {
	var all []string
	for _, value := range values {
		if text := strings.Trim(string(value.Raw), `"`); text != "" && text != "false" { // false is how YAML reads N
			all = append(all, "`"+text+"`")
		}
	}
	return strings.Join(all, ", ")
}

func code(words []string) string {
	return "`" + strings.Join(words, "`, `") + "`"
}
