package admit

import (
	"cmp"
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
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// RefusedError says what is wrong with an object.
type RefusedError struct {
	// Object is the object.
	Object client.Object
	// Problems are what is wrong with it, each with the path of its field and without its file.
	Problems yamltree.Problems
}

// Error names the object and says everything that is wrong with it.
func (e *RefusedError) Error() string {
	sentences := make([]string, len(e.Problems))
	for i, problem := range e.Problems {
		sentences[i] = problem.Error()
	}
	return fmt.Sprintf("%s %s: %s", manifest.Kind(e.Object), e.Object.GetName(), strings.Join(sentences, "; "))
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
type Definition struct{ *rules }

// Define reads the rules of a kind, which takes a while. It returns an error if there are none that
// can be read.
func Define(definition *apiextensionsv1.CustomResourceDefinition) (*Definition, error) {
	rules, err := newRules(definition.Spec.Versions[0].Schema.OpenAPIV3Schema)
	if err != nil {
		return nil, fmt.Errorf("read the rules of %s: %w", definition.Spec.Names.Kind, err)
	}
	return &Definition{rules}, nil
}

// Check returns a *RefusedError if the API server would refuse to create an object of the kind, or
// would warn of fields that the kind does not have, which it drops. The cost of a kind's rules is limited,
// as in the API server.
func (d *Definition) Check(object client.Object) error {
	content, err := manifest.Definition(object)
	if err != nil {
		return err
	}
	unknown := pruning.PruneWithOptions(content, d.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	d.complete(content)
	problems := metadata(content)
	for _, path := range unknown {
		problems = append(problems, d.unknown(path))
	}
	return refusal(object, append(problems, d.check(context.Background(), content, nil)...))
}

// metadata returns what is wrong with the metadata of an object in a namespace.
func metadata(content map[string]any) yamltree.Problems {
	object := (&unstructured.Unstructured{Object: content}).DeepCopy()
	object.SetNamespace(cmp.Or(object.GetNamespace(), metav1.NamespaceDefault))
	wrong := apivalidation.ValidateObjectMetaAccessor(object, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	var problems yamltree.Problems
	for _, one := range wrong {
		message, _, _ := strings.Cut(one.ErrorBody(), " (e.g. ") // Examples and regular expressions follow.
		problems = append(problems, yamltree.Problem{Path: one.Field, Message: message})
	}
	return problems
}

// refusal returns a *RefusedError with the problems of an object, nil if there are none.
func refusal(object client.Object, problems yamltree.Problems) error {
	if len(problems) == 0 {
		return nil
	}
	return &RefusedError{Object: object, Problems: problems}
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
	"Fleet":         sync.OnceValues(func() (*rules, error) { return rulesOf("Fleet") }),
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
	r.complete(content)
	return content, nil
}

// complete drops null where the schema allows none, and adds defaults, as the API server does.
func (r *rules) complete(content map[string]any) {
	defaulting.PruneNonNullableNullsWithoutDefaults(content, r.structural)
	defaulting.Default(content, r.structural)
	delete(content, "status") // it has a default, too
}

func (r *rules) check(ctx context.Context, now, before map[string]any) yamltree.Problems {
	var wrong field.ErrorList
	if before == nil {
		wrong = validation.ValidateCustomResource(nil, now, r.validator)
	} else {
		wrong = validation.ValidateCustomResourceUpdate(nil, now, before, r.validator)
	}
	wrong = append(wrong, listtype.ValidateListSetsAndMaps(nil, r.structural, now)...)
	if len(wrong) > 0 { // The API server asks the rules only about what has the right form.
		return r.ofSchema(wrong)
	}
	var old any
	if before != nil {
		old = before
	}
	var problems yamltree.Problems
	broken, _ := r.cel.Validate(ctx, nil, r.structural, now, old, celconfig.RuntimeCELCostBudget)
	for _, one := range broken {
		problems = append(problems, yamltree.Problem{Path: pathOf(one), Message: one.Detail})
	}
	return problems
}

// IsRefused returns the RefusedError within an error, or nil.
func IsRefused(err error) *RefusedError {
	refused, _ := errors.AsType[*RefusedError](err)
	return refused
}
