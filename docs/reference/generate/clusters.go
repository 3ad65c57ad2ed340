package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	identityv1alpha1 "github.com/aws-operator/aws-operator/api/identity/v1alpha1"
)

const clustersHead = `# Cluster kinds reference

This page lists the fields of Cluster, InstanceGroup and Release. ` + "`make generate`" + ` writes it from the CustomResourceDefinitions;
` + "`kubectl explain`" + ` shows the same.

Group and version: ` + "`cluster-operator.aws/v1alpha1`" + `. All kinds are in the category ` + "`aws`" + ` (` + "`kubectl get aws`" + `). See also the
[guide](../guide/clusters.md), the [conditions](status.md#clusters-and-instance-groups), and the [resources in
AWS](cluster-resources.md).
`

// writeClusters describes the kinds of clusters.
func writeClusters(page *bytes.Buffer) error {
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		return fmt.Errorf("read the kinds of clusters: %w", err)
	}
	page.WriteString(clustersHead)
	for _, crd := range crds {
		writeCRD(page, crd)
	}
	return nil
}

const identitiesHead = `# Identities reference

This page lists the fields of AWSIdentity. ` + "`make generate`" + ` writes it from the CustomResourceDefinition; ` + "`kubectl explain`" + ` shows the
same. The [guide](../guide/identities.md) shows how to use them.

Group and version: ` + "`aws-operator.aws/v1alpha1`" + `.
`

// writeIdentities describes the kind AWSIdentity.
func writeIdentities(page *bytes.Buffer) error {
	crd, err := identityv1alpha1.CustomResourceDefinition()
	if err != nil {
		return fmt.Errorf("read the kind AWSIdentity: %w", err)
	}
	page.WriteString(identitiesHead)
	writeCRD(page, crd)
	return nil
}

// writeCRD describes one kind.
func writeCRD(page *bytes.Buffer, crd *apiextensionsv1.CustomResourceDefinition) {
	version := &crd.Spec.Versions[0]
	root := version.Schema.OpenAPIV3Schema
	where := "It is namespaced."
	if crd.Spec.Scope == apiextensionsv1.ClusterScoped {
		where = "It is cluster-scoped."
	}
	fmt.Fprintf(page, "\n## %s\n\n%s %s", crd.Spec.Names.Kind, line(root.Description), where)
	if names := crd.Spec.Names.ShortNames; len(names) > 0 {
		fmt.Fprintf(page, " Short names: %s.", code(names))
	}
	var columns []string
	for i := range version.AdditionalPrinterColumns {
		columns = append(columns, version.AdditionalPrinterColumns[i].Name)
	}
	fmt.Fprintf(page, "\n\n`kubectl get -o wide` shows %s.\n", code(columns))
	for _, part := range []string{"spec", "status"} {
		schema, ok := root.Properties[part]
		if !ok {
			continue
		}
		fmt.Fprintf(page, "\n| field of `%s` | type | |\n| --- | --- | --- |\n", part)
		rows(page, "", &schema)
	}
	if fixed := fixedIn(root); len(fixed) > 0 {
		page.WriteString("\nThe API server refuses some changes, with these messages:\n\n")
		for _, message := range fixed {
			fmt.Fprintf(page, "- %s\n", message)
		}
	}
}

// rows describes the properties of a schema, and those below them.
func rows(page *bytes.Buffer, path string, s *apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		words := []string{typeOf(&property)}
		if slices.Contains(s.Required, name) {
			words = append(words, "required")
		}
		if property.Default != nil {
			words = append(words, "default `"+string(property.Default.Raw)+"`")
		}
		fmt.Fprintf(page, "| `%s%s` | %s | %s |\n", path, name, strings.Join(words, ", "), cell(property.Description))
		under, at := below(&property)
		if under != nil && name != "conditions" {
			rows(page, path+name+at, under)
		}
	}
}

// below returns the schema that has the fields of a property, and the path to it.
func below(property *apiextensionsv1.JSONSchemaProps) (under *apiextensionsv1.JSONSchemaProps, at string) {
	switch {
	case len(property.Properties) > 0:
		return property, "."
	case property.Items != nil && property.Items.Schema != nil:
		return property.Items.Schema, "[]."
	case property.AdditionalProperties != nil && property.AdditionalProperties.Schema != nil:
		return property.AdditionalProperties.Schema, ".*."
	}
	return nil, ""
}

// typeOf returns the type of a field as users know it.
func typeOf(s *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.XIntOrString:
		return "number or percentage"
	case len(s.Enum) > 0:
		return enum(s.Enum)
	case s.Format == "duration" || s.Format == "date-time":
		return s.Format
	case s.Items != nil && s.Items.Schema != nil:
		return "list of " + typeOf(s.Items.Schema)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(s.AdditionalProperties.Schema)
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("%s, %.0f to %.0f", s.Type, *s.Minimum, *s.Maximum)
	}
	return s.Type
}

// fixedIn collects the messages of the transition rules, without duplicates.
func fixedIn(s *apiextensionsv1.JSONSchemaProps) []string {
	var fixed []string
	add := func(message string) {
		if !slices.Contains(fixed, message) {
			fixed = append(fixed, message)
		}
	}
	for _, rule := range s.XValidations {
		if strings.Contains(rule.Rule, "oldSelf") {
			add(rule.Message)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		for _, message := range fixedIn(&property) {
			add(message)
		}
	}
	return fixed
}

// line makes one line of a description.
func line(description string) string { return strings.Join(strings.Fields(description), " ") }

// cell makes a table's cell of a description.
func cell(description string) string { return strings.ReplaceAll(line(description), "|", `\|`) }
