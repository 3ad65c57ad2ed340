package admit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/manifest"
)

// RefusedError says what is wrong with an object.
type RefusedError struct {
	// Object is the object.
	Object client.Object
	// Problems are what is wrong with it, a sentence each, with the path of its field.
	Problems []string
}

// Error names the object and says everything that is wrong with it.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s %s: %s", manifest.Kind(e.Object), e.Object.GetName(), strings.Join(e.Problems, "; "))
}

// Check returns a *RefusedError if the API server would refuse to create the object, or to change
// old to it unless old is nil. It applies the schema's defaults to missing fields, but does not
// change the objects. It returns another error only for objects of other kinds.
func Check(ctx context.Context, object, old client.Object) error {
	kind := manifest.Kind(object)
	if byKind[kind] == nil {
		return fmt.Errorf("there are no rules for a %s", kind)
	}
	rules, err := byKind[kind]()
	if err != nil {
		return fmt.Errorf("read the rules of %s: %w", kind, err)
	}
	now, err := rules.content(object)
	if err != nil {
		return err
	}
	var before map[string]any
	if old != nil {
		if before, err = rules.content(old); err != nil {
			return err
		}
	}
	return refusal(object, rules.check(ctx, now, before))
}

// Definition checks objects of a kind that is defined elsewhere.
type Definition struct {
	*rules

	singular string
}

// Define reads the rules of a kind, which takes a while. It returns an error if there are none that
// can be read.
func Define(definition *apiextensionsv1.CustomResourceDefinition) (*Definition, error) {
	rules, err := newRules(definition.Spec.Versions[0].Schema.OpenAPIV3Schema)
	if err != nil {
		return nil, fmt.Errorf("read the rules of %s: %w", definition.Spec.Names.Kind, err)
	}
	return &Definition{rules, definition.Spec.Names.Singular}, nil
}

// Check returns a *RefusedError if the API server would refuse to make an object of the kind, or
// would warn of fields that the kind does not have, which it drops.
func (d *Definition) Check(ctx context.Context, object client.Object) error {
	content, err := d.content(object)
	if err != nil {
		return err
	}
	unknown := pruning.PruneWithOptions(content, d.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	problems := d.check(ctx, content, nil)
	for _, path := range unknown {
		parent := path[:max(0, strings.LastIndexByte(path, '.'))]
		problems = append(problems, &field.Error{Type: field.ErrorTypeInvalid, Field: path, Detail: fmt.Sprintf(
			"unknown field: remove it, or use one of the fields that kubectl explain %s.%s lists", d.singular, parent)})
	}
	return refusal(object, problems)
}

// refusal says what is wrong with an object, nil if nothing is.
func refusal(object client.Object, problems field.ErrorList) error {
	if len(problems) == 0 {
		return nil
	}
	refused := &RefusedError{Object: object}
	for _, problem := range problems {
		refused.Problems = append(refused.Problems, sentence(problem))
	}
	return refused
}

// sentence says a problem with the path of its field. The rules' own messages are sentences
// already; what the schema says names the value as well.
func sentence(problem *field.Error) string {
	text := problem.ErrorBody()
	if problem.Type == field.ErrorTypeInvalid && problem.Origin == "" && strings.HasSuffix(text, problem.Detail) && isRule(problem.Detail) {
		text = problem.Detail
	}
	if problem.Field == "" || problem.Field == "<nil>" {
		return text
	}
	return problem.Field + ": " + text
}

// isRule is whether a message is one of the rules', which say what to do.
func isRule(detail string) bool {
	return strings.Contains(detail, ": ") || strings.HasPrefix(detail, "write ")
}

// rules are those of a kind.
type rules struct {
	structural *schema.Structural
	validator  validation.SchemaValidator
	cel        *schemacel.Validator
}

// byKind makes the rules of a kind when the first object of it is checked: to compile them takes a
// while.
var byKind = map[string]func() (*rules, error){
	"Cluster":       sync.OnceValues(func() (*rules, error) { return rulesOf("Cluster") }),
	"InstanceGroup": sync.OnceValues(func() (*rules, error) { return rulesOf("InstanceGroup") }),
	"Release":       sync.OnceValues(func() (*rules, error) { return rulesOf("Release") }),
}

func rulesOf(kind string) (*rules, error) {
	crds, err := v1alpha1.CustomResourceDefinitions()
	if err != nil {
		return nil, err
	}
	for _, crd := range crds {
		if crd.Spec.Names.Kind == kind {
			return newRules(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
		}
	}
	return nil, fmt.Errorf("there is no schema of %s", kind)
}

func newRules(from *apiextensionsv1.JSONSchemaProps) (*rules, error) {
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(from, props, nil); err != nil {
		return nil, err
	}
	structural, err := schema.NewStructural(props)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, err
	}
	return &rules{structural: structural, validator: validator, cel: schemacel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

// content returns what the API server would keep of an object: without its status, and with
// defaults.
func (r *rules) content(object client.Object) (map[string]any, error) {
	content, err := manifest.Definition(object)
	if err != nil {
		return nil, err
	}
	defaulting.Default(content, r.structural)
	return content, nil
}

func (r *rules) check(ctx context.Context, now, before map[string]any) field.ErrorList {
	var problems field.ErrorList
	if before == nil {
		problems = validation.ValidateCustomResource(nil, now, r.validator)
	} else {
		problems = validation.ValidateCustomResourceUpdate(nil, now, before, r.validator)
	}
	problems = append(problems, listtype.ValidateListSetsAndMaps(nil, r.structural, now)...)
	if len(problems) > 0 { // The API server asks the rules only about what has the right form.
		return problems
	}
	var old any
	if before != nil {
		old = before
	}
	broken, _ := r.cel.Validate(ctx, nil, r.structural, now, old, celconfig.RuntimeCELCostBudget)
	return broken
}

// IsRefused returns the RefusedError within an error, or nil.
func IsRefused(err error) *RefusedError {
	refused, _ := errors.AsType[*RefusedError](err)
	return refused
}
