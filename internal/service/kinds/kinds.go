// Package kinds renders the stacks of services without an operator. It knows the built-in kinds,
// the kinds of ModelDefinitions, and the templates that objects may use instead of their kind's.
package kinds

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/admit"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/partition"
	"github.com/aws-operator/aws-operator/internal/service/catalog"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// Set is a set of kinds and templates. The zero value has none.
type Set struct {
	models    map[string]*model.Model
	templates map[types.NamespacedName]*render.Override
}

// BuiltIn returns the built-in kinds. It returns an error if they are invalid, which a test rules
// out.
func BuiltIn() (*Set, error) {
	models, err := catalog.Models(schema.Default())
	if err != nil {
		return nil, fmt.Errorf("read the built-in kinds: %w", err)
	}
	s := &Set{models: map[string]*model.Model{}}
	for _, m := range models {
		s.models[m.Kind] = m
	}
	return s, nil
}

// Define adds the kind of a ModelDefinition, or a CloudFormationTemplate. It ignores other objects.
func (s *Set) Define(object client.Object) error {
	switch o := object.(type) {
	case *v1alpha1.ModelDefinition:
		compiled, err := model.Compile(o.Name, &o.Spec, schema.Default())
		if err != nil {
			return err
		}
		if err := compiled.Check(schema.Default()); err != nil {
			return err
		}
		if s.models == nil {
			s.models = map[string]*model.Model{}
		}
		s.models[compiled.Kind] = compiled
	case *v1alpha1.CloudFormationTemplate:
		if s.templates == nil {
			s.templates = map[types.NamespacedName]*render.Override{}
		}
		s.templates[named(o.Namespace, o.Name)] = &render.Override{File: o.Data.Key, Template: o.Data.Template}
	}
	return nil
}

func named(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: cmp.Or(namespace, metav1.NamespaceDefault), Name: name}
}

// Model returns a kind, or an error if none has the name.
func (s *Set) Model(kind string) (*model.Model, error) {
	if found := s.models[kind]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("there is no kind %s; give its ModelDefinition with another -f", kind)
}

// Models returns all kinds, sorted by name.
func (s *Set) Models() []*model.Model {
	all := make([]*model.Model, 0, len(s.models))
	for _, name := range slices.Sorted(maps.Keys(s.models)) {
		all = append(all, s.models[name])
	}
	return all
}

// Stack renders the stack of an object, with the object's own template if it references one, and
// runs the operator's checks. The error is cfntemplate.Problems if the template is invalid.
func (s *Set) Stack(m *model.Model, object *v1alpha1.Object, facts render.Facts) (*render.Desired, error) {
	override, err := s.override(object)
	if err != nil {
		return nil, err
	}
	stack, err := render.Stack(m, object, facts, override)
	if err != nil {
		return nil, err
	}
	problems := append(stack.Template.Check(), schema.Default().Validate(stack.Template)...)
	if len(problems) > 0 {
		return nil, problems
	}
	return stack, nil
}

// override returns the template that the object uses instead of its kind's, or nil.
func (s *Set) override(object *v1alpha1.Object) (*render.Override, error) {
	spec, err := render.Spec(object)
	if err != nil {
		return nil, err
	}
	name, _ := spec["cloudFormationTemplateName"].(string)
	if name == "" {
		return nil, nil //nolint:nilnil // the object references no template
	}
	namespace, _ := spec["cloudFormationTemplateNamespace"].(string)
	key := named(cmp.Or(namespace, object.Namespace), name)
	found, ok := s.templates[key]
	if !ok {
		return nil, &admit.RefusedError{Object: object, Problems: yamltree.Problems{{
			Path: "spec.cloudFormationTemplateName", Message: fmt.Sprintf("there is no CloudFormationTemplate %s; give it with another -f", key),
		}}}
	}
	return found, nil
}

// WithValues returns an object with the values that its spec.valuesFrom names, which lookup finds, and
// those among them that the stack has as parameters.
func (s *Set) WithValues(
	m *model.Model, object *v1alpha1.Object, lookup func(render.Source) (render.Value, error),
) (*v1alpha1.Object, []render.Secret, error) {
	sources, err := render.Sources(m, object)
	if err != nil {
		return nil, nil, err
	}
	values := make([]render.Value, len(sources))
	for i, from := range sources {
		if values[i], err = lookup(from); err != nil {
			return nil, nil, err
		}
	}
	return render.WithValues(m, object, values)
}

// ExampleValue returns a plausible value of an object that does not exist yet. Those of ConfigMaps and
// Secrets are unknown.
func (s *Set) ExampleValue(from render.Source, facts render.Facts) (render.Value, error) {
	if from.OfData() {
		return render.Value{Source: from, Unknown: true}, nil
	}
	return s.OutputValue(from, s.ExampleOutputs(render.Reference{Kind: from.Kind, ObjectName: from.Name}, facts))
}

// OutputValue returns the value of an output of an object, whose outputs are given. The error is
// cfntemplate.Problems if there is no such output.
func (s *Set) OutputValue(from render.Source, outputs map[string]any) (render.Value, error) {
	kind, err := s.Model(from.Kind)
	if err != nil {
		return render.Value{}, from.Problem("kind", "%s", err)
	}
	names := make([]string, len(kind.Outputs))
	for i, o := range kind.Outputs {
		names[i] = o.Name
	}
	if !slices.Contains(names, from.Key) {
		return render.Value{}, from.Problem("output", "%s has no output %s; use one of %s", from.Kind, from.Key, strings.Join(names, ", "))
	}
	text, known := outputs[from.Key].(string)
	return render.Value{Source: from, Text: text, Unknown: !known}, nil
}

// ExampleOutputs returns plausible outputs for a referenced object that does not exist yet.
func (s *Set) ExampleOutputs(reference render.Reference, facts render.Facts) map[string]any {
	values := map[string]any{"name": reference.ObjectName}
	referenced, ok := s.models[reference.Kind]
	if !ok {
		return values
	}
	arnPartition, suffix := partition.Of(facts.Region)
	service := strings.ToLower(reference.Kind[:min(3, len(reference.Kind))]) // SNSTopic becomes sns, SQSQueue sqs
	resource := reference.ObjectName
	if reference.Kind == "EncryptionKey" {
		service, resource = "kms", "key/"+resource
	}
	for _, output := range referenced.Outputs {
		switch {
		case output.Name == "senders" || output.Name == "publishers": // Whom the object lets use it is not known.
		case strings.HasSuffix(output.Name, "ARN"):
			values[output.Name] = fmt.Sprintf(
				"arn:%s:%s:%s:%s:%s", arnPartition, service, facts.Region, facts.AccountID, resource,
			)
		case strings.HasSuffix(output.Name, "URL"):
			values[output.Name] = fmt.Sprintf(
				"https://%s.%s.%s/%s/%s", service, facts.Region, suffix, facts.AccountID, reference.ObjectName,
			)
		default:
			values[output.Name] = reference.ObjectName
		}
	}
	return values
}
