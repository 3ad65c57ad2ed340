package render

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/partition"
	"github.com/aws-operator/aws-operator/internal/service/catalog"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// definitions are the kinds that can be rendered and the templates that objects
// may name in place of their kind's.
type definitions struct {
	kinds     map[string]*model.Model
	templates map[types.NamespacedName]*render.Override
}

func builtIn() (*definitions, error) {
	models, err := catalog.Models(schema.Default())
	if err != nil {
		return nil, fmt.Errorf("read the built-in kinds: %w", err)
	}
	d := &definitions{kinds: map[string]*model.Model{}, templates: map[types.NamespacedName]*render.Override{}}
	for _, m := range models {
		d.kinds[m.Kind] = m
	}
	return d, nil
}

// define adds the kind of a ModelDefinition, or a CloudFormationTemplate. Other
// manifests it passes over.
func (d *definitions) define(m manifest.Manifest) error {
	switch object := m.Object.(type) {
	case *servicev1alpha1.ModelDefinition:
		compiled, err := model.Compile(object.Name, &object.Spec, schema.Default())
		if err != nil {
			return fmt.Errorf("%s: %w", m.File, err)
		}
		d.kinds[compiled.Kind] = compiled
	case *servicev1alpha1.CloudFormationTemplate:
		d.templates[named(object.Namespace, object.Name)] = &render.Override{File: object.Data.Key, Template: object.Data.Template}
	}
	return nil
}

func named(namespace, name string) types.NamespacedName {
	if namespace == "" {
		namespace = "default"
	}
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// override returns the template that the object names in place of its kind's,
// nil when it names none.
func (d *definitions) override(object *servicev1alpha1.Object) (*render.Override, error) {
	spec, err := render.Spec(object)
	if err != nil {
		return nil, err
	}
	name, _ := spec["cloudFormationTemplateName"].(string)
	if name == "" {
		return nil, nil //nolint:nilnil // none is a valid answer
	}
	namespace, _ := spec["cloudFormationTemplateNamespace"].(string)
	if namespace == "" {
		namespace = object.Namespace
	}
	found, ok := d.templates[named(namespace, name)]
	if !ok {
		return nil, fmt.Errorf("there is no CloudFormationTemplate %s; give it with another -f", named(namespace, name))
	}
	return found, nil
}

// render returns the stack of an object, and nil for what makes no stack.
func (d *definitions) render(m manifest.Manifest, facts render.Facts) (*render.Desired, error) {
	object, ok := m.Object.(*servicev1alpha1.Object)
	if !ok {
		return nil, nil //nolint:nilnil // no stack is a valid answer
	}
	kind, ok := d.kinds[object.Kind]
	if !ok {
		return nil, fmt.Errorf("%s: there is no kind %s; give its ModelDefinition with another -f", m.File, object.Kind)
	}
	object.Namespace = named(object.Namespace, "").Namespace
	stack, err := d.stack(kind, object, facts)
	if err != nil {
		return nil, fmt.Errorf("%s: %s %s: %w", m.File, object.Kind, object.Name, err)
	}
	return stack, nil
}

func (d *definitions) stack(kind *model.Model, object *servicev1alpha1.Object, facts render.Facts) (*render.Desired, error) {
	references, err := render.References(kind, object)
	if err != nil {
		return nil, err
	}
	facts.References = map[string]map[string]any{}
	siblings := map[string]any{}
	for _, reference := range references {
		facts.References[reference.Name] = d.standIn(reference, facts)
		siblings[reference.Name] = facts.References[reference.Name]
	}
	facts.Siblings = map[string][]any{}
	for _, reference := range references {
		facts.Siblings[reference.Name] = []any{siblings}
	}
	override, err := d.override(object)
	if err != nil {
		return nil, err
	}
	stack, err := render.Stack(kind, object, facts, override)
	if err != nil {
		return nil, err
	}
	problems := append(stack.Template.Check(), schema.Default().Validate(stack.Template)...)
	if len(problems) > 0 {
		return nil, problems
	}
	return stack, nil
}

// standIn is what an object that another one names could have as outputs.
func (d *definitions) standIn(reference render.Reference, facts render.Facts) map[string]any {
	values := map[string]any{"name": reference.ObjectName}
	referenced, ok := d.kinds[reference.Kind]
	if !ok {
		return values
	}
	arnPartition, suffix := partition.Of(facts.Region)
	// SNSTopic is sns, SQSQueue sqs.
	service := strings.ToLower(reference.Kind[:min(3, len(reference.Kind))])
	for _, output := range referenced.Outputs {
		switch {
		case strings.HasSuffix(output.Name, "ARN"):
			values[output.Name] = fmt.Sprintf("arn:%s:%s:%s:%s:%s", arnPartition, service, facts.Region, facts.AccountID, reference.ObjectName)
		case strings.HasSuffix(output.Name, "URL"):
			values[output.Name] = fmt.Sprintf("https://%s.%s.%s/%s/%s", service, facts.Region, suffix, facts.AccountID, reference.ObjectName)
		default:
			values[output.Name] = reference.ObjectName
		}
	}
	return values
}
