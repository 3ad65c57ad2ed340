// Package adopt makes objects that adopt existing resources: their specs say what the resources have, so
// that adopting them changes nothing.
package adopt

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	identityv1alpha1 "github.com/aws-operator/aws-operator/api/identity/v1alpha1"
	"github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/kinds"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// Resource is an existing resource.
type Resource struct {
	// Type is its CloudFormation type, Identifier its primary identifier.
	Type, Identifier string
	// Properties are its properties as JSON, as Cloud Control API returns them.
	Properties string
}

// Adopter makes objects. It remembers which names and kinds it has used.
type Adopter struct {
	known      *kinds.Set
	namespace  string
	facts      render.Facts
	inferences []inference
	// derived are the kinds that are derived from a type, by the type.
	derived map[string]*model.Model
	// taken are the names that are used, by kind.
	taken map[string]map[string]bool
}

// inference is a built-in kind, and what properties say about its specs.
type inference struct {
	kind *model.Model
	*model.Inference
}

// Adopted is an object that adopts a resource.
type Adopted struct {
	// Type is the CloudFormation type of the resource.
	Type string
	// Object is the object, Definition that of its kind if it is new.
	Object     *v1alpha1.Object
	Definition *v1alpha1.ModelDefinition
	// Instead says why the object is not of a built-in kind of the resource's type, if there is one.
	Instead string
}

// New returns an adopter that makes objects in a namespace. Facts are those of the operator that will
// adopt the resources.
func New(known *kinds.Set, namespace string, facts render.Facts) *Adopter {
	a := &Adopter{
		known: known, namespace: namespace, facts: facts, derived: map[string]*model.Model{}, taken: map[string]map[string]bool{},
	}
	for _, m := range known.Models() {
		if m.ResourceType != "" {
			a.derived[m.ResourceType] = m
			continue
		}
		if found := m.Infer(); found != nil {
			a.inferences = append(a.inferences, inference{m, found})
		}
	}
	return a
}

// Types returns the types of the built-in kinds, by the kind.
func (a *Adopter) Types() map[string]string {
	types := map[string]string{}
	for _, in := range a.inferences {
		types[in.kind.Kind] = in.Type
	}
	return types
}

// Of returns an object for a resource: of a built-in kind if that can say everything about the resource,
// or else of a kind that is derived from the type. The error says why there can be none.
func (a *Adopter) Of(r Resource) (*Adopted, error) {
	t, ok := schema.Default().Type(r.Type)
	if !ok || len(t.PrimaryIdentifier) == 0 {
		return nil, fmt.Errorf("the schema of its type, or the type's identifier, is unknown")
	}
	live := map[string]any{}
	if err := utiljson.Unmarshal([]byte(r.Properties), &live); err != nil {
		return nil, fmt.Errorf("its properties cannot be read: %w", err)
	}
	if reason := foreign(r, live); reason != "" {
		return nil, errors.New(reason)
	}
	made := &Adopted{Type: r.Type}
	for _, in := range a.inferences {
		if in.Type != r.Type {
			continue
		}
		if made.Object, made.Instead = a.builtIn(in, t, r, live); made.Object != nil {
			return a.take(made), nil
		}
	}
	if missing := unreturned(t, live); missing != "" {
		return nil, fmt.Errorf("AWS does not return its %s, which is required; write the manifest by hand", missing)
	}
	kind, definition, err := a.derive(t)
	if err != nil {
		return nil, err
	}
	made.Definition = definition
	if made.Object, err = a.asDerived(kind, t, r, live); err != nil {
		return nil, err
	}
	return a.take(made), nil
}

// foreign says why a resource that AWS made cannot be adopted.
func foreign(r Resource, live map[string]any) string {
	path, _ := live["Path"].(string)
	switch {
	case strings.HasPrefix(path, "/aws-service-role/"),
		r.Type == "AWS::KMS::Alias" && strings.HasPrefix(r.Identifier, "alias/aws/"),
		r.Type == "AWS::Events::EventBus" && r.Identifier == "default":
		return "it belongs to AWS"
	case r.Type == "AWS::CloudFormation::Stack":
		return "it is a stack; its resources can be adopted"
	}
	return ""
}

// unreturned returns a required property that AWS does not return.
func unreturned(t *schema.Type, live map[string]any) string {
	for _, name := range t.Required {
		if _, ok := live[name]; !ok {
			return name
		}
	}
	return ""
}

// object returns an object that adopts a resource. It keeps the resource when it is deleted: the user
// did not make the resource with the operator, and another program may need it.
func (a *Adopter) object(
	kind *model.Model, name string, r Resource, spec map[string]any, tags map[string]string,
) (*v1alpha1.Object, error) {
	object := &v1alpha1.Object{}
	object.APIVersion, object.Kind = v1alpha1.GroupVersion.String(), kind.Kind
	object.Name, object.Namespace = name, a.namespace
	object.Annotations = map[string]string{
		v1alpha1.AdoptAnnotation: r.Identifier, v1alpha1.DeletionPolicyAnnotation: v1alpha1.DeletionPolicyRetain,
	}
	if len(tags) > 0 {
		text, err := json.Marshal(tags) // JSON is YAML, and on one line
		if err != nil {
			return nil, fmt.Errorf("write its tags: %w", err)
		}
		object.Annotations[identityv1alpha1.TagsAnnotation] = string(text)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("write its spec: %w", err)
	}
	object.Spec = text
	return object, nil
}

// differences returns what adopting a resource would change of it.
func (a *Adopter) differences(kind *model.Model, object *v1alpha1.Object, r Resource) ([]diff.PropertyChange, error) {
	if err := kind.Admits(object); err != nil {
		return nil, err
	}
	stack, err := a.known.Stack(kind, object, a.facts)
	if err != nil {
		return nil, err
	}
	adoption, err := render.Adopts(object, stack, schema.Default(), nil)
	if err != nil {
		return nil, err
	}
	side := diff.Side{Template: stack.Template, Parameters: stack.Parameters}
	changes, ok := diff.Live(r.Properties, adoption.Resource, side, schema.Default())
	if !ok {
		return nil, errors.New("its properties have a text that a template takes for a function")
	}
	return changes, nil
}

// asDerived returns an object of a derived kind.
func (a *Adopter) asDerived(kind *model.Model, t *schema.Type, r Resource, live map[string]any) (*v1alpha1.Object, error) {
	spec, ok := kind.SpecOf(live)
	if !ok {
		return nil, fmt.Errorf("its properties are no spec of %s", kind.Kind)
	}
	object, err := a.object(kind, a.free(kind.Kind, objectName(t, r, live)), r, spec, nil)
	if err != nil {
		return nil, err
	}
	changes, err := a.differences(kind, object, r)
	if err != nil {
		return nil, err
	}
	if changed := diff.Sets(changes); len(changed) > 0 {
		return nil, fmt.Errorf("adopting it would change its %s", paths(changed))
	}
	return object, nil
}

func paths(changes []diff.PropertyChange) string {
	all := make([]string, len(changes))
	for i, c := range changes {
		all[i] = c.Path
	}
	return strings.Join(all, ", ")
}

// derive returns the kind that is derived from a type, and its definition if it is new.
func (a *Adopter) derive(t *schema.Type) (*model.Model, *v1alpha1.ModelDefinition, error) {
	if kind := a.derived[t.Name]; kind != nil {
		return kind, nil, nil
	}
	definition := &v1alpha1.ModelDefinition{}
	definition.APIVersion, definition.Kind = v1alpha1.GroupVersion.String(), "ModelDefinition"
	definition.Spec.ResourceType = t.Name
	if _, err := a.known.Model(definition.Spec.ObjectKind()); err == nil { // a built-in kind has the name
		definition.Spec.Kind = "Raw" + definition.Spec.ObjectKind()
	}
	compiled, err := model.Compile(t.Name, &definition.Spec, schema.Default())
	if err != nil {
		return nil, nil, fmt.Errorf("there is no kind for its type: %w", err)
	}
	definition.Name = compiled.Plural
	if err := a.known.Define(definition); err != nil {
		return nil, nil, fmt.Errorf("there is no kind for its type: %w", err)
	}
	kind, err := a.known.Model(compiled.Kind)
	if err != nil {
		return nil, nil, err
	}
	a.derived[t.Name] = kind
	return kind, definition, nil
}

// take records the name of an object.
func (a *Adopter) take(made *Adopted) *Adopted {
	kind := made.Object.Kind
	if a.taken[kind] == nil {
		a.taken[kind] = map[string]bool{}
	}
	a.taken[kind][made.Object.Name] = true
	return made
}

// free returns a name that no object of the kind has: the given one, if possible.
func (a *Adopter) free(kind, name string) string {
	for i := 1; ; i++ {
		candidate := name
		if i > 1 {
			candidate = fmt.Sprintf("%s-%d", name, i)
		}
		if !a.taken[kind][candidate] {
			return candidate
		}
	}
}

// YAML returns the manifest of an object, or of a definition.
func YAML(object any) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	tree := map[string]any{}
	if err := utiljson.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	delete(tree, "status")
	delete(tree, "output")
	if metadata, ok := tree["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	if spec, ok := tree["spec"].(map[string]any); ok {
		if additional, ok := spec["additionalResources"].(map[string]any); ok && len(additional) == 0 {
			delete(spec, "additionalResources")
		}
	}
	return yaml.Marshal(tree)
}
