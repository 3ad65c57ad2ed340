package kinds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/admit"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/service/model"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// Admit adds the kinds and templates that manifests define, and checks all manifests as the API
// server would. The error is yamltree.Problems: everything that is wrong, by file and line.
func (s *Set) Admit(ctx context.Context, manifests []manifest.Manifest) error {
	a := admission{known: s, invalid: map[string]bool{}}
	var problems yamltree.Problems
	for i := range manifests {
		problems = append(problems, a.define(&manifests[i])...)
	}
	for i := range manifests {
		problems = append(problems, a.check(ctx, &manifests[i])...)
	}
	order := map[string]int{}
	for i := range manifests {
		order[manifests[i].File] = cmp.Or(order[manifests[i].File], i+1)
	}
	slices.SortStableFunc(problems, func(x, y yamltree.Problem) int {
		return cmp.Or(cmp.Compare(order[x.File], order[y.File]), cmp.Compare(x.Line, y.Line))
	})
	return problems.Err()
}

// admission checks manifests.
type admission struct {
	known *Set
	// invalid are the kinds with an invalid definition.
	invalid map[string]bool
}

// define adds the kind or template of a manifest.
func (a *admission) define(m *manifest.Manifest) yamltree.Problems {
	err := a.known.Define(m.Object)
	if err == nil {
		return nil
	}
	if definition, ok := m.Object.(*v1alpha1.ModelDefinition); ok {
		a.invalid[definition.Spec.ObjectKind()] = true
	}
	return a.known.Problems(m, err)
}

// check returns what the API server would report for an object.
func (a *admission) check(ctx context.Context, m *manifest.Manifest) yamltree.Problems {
	switch object := m.Object.(type) {
	case *v1alpha1.Object:
		return a.service(m, object)
	case *clusterv1alpha1.Cluster, *clusterv1alpha1.InstanceGroup, *clusterv1alpha1.Release:
		return a.known.Problems(m, admit.Check(ctx, m.Object, nil))
	}
	return nil
}

func (a *admission) service(m *manifest.Manifest, object *v1alpha1.Object) yamltree.Problems {
	if a.invalid[object.Kind] {
		return nil // The problems of the definition are reported.
	}
	kind, err := a.known.Model(object.Kind)
	if err != nil {
		return yamltree.Problems{m.Locate(yamltree.Problem{
			Path: "kind", Message: err.Error(), Suggestion: cfntemplate.Closest(object.Kind, slices.Sorted(maps.Keys(a.known.models))),
		})}
	}
	if err := kind.Admits(object); err != nil {
		return a.known.Problems(m, err)
	}
	if _, err := render.Sources(kind, object); err != nil {
		return a.known.Problems(m, err)
	}
	return a.known.Problems(m, render.CheckWriteTo(kind, object))
}

// Problems returns an error about the object of a manifest, such as one of [Set.Stack], as problems
// with the file and the line of their fields; none if it is nil.
func (s *Set) Problems(m *manifest.Manifest, err error) yamltree.Problems {
	if err == nil {
		return nil
	}
	var problems yamltree.Problems
	if refused := admit.IsRefused(err); refused != nil {
		for _, p := range refused.Problems {
			problems = append(problems, m.Locate(p))
		}
		return problems
	}
	if ofTemplate, ok := errors.AsType[cfntemplate.Problems](err); ok {
		for _, p := range ofTemplate {
			problems = append(problems, m.Locate(s.ofTemplate(m.Object, p)))
		}
		return problems
	}
	return yamltree.Problems{m.Locate(yamltree.Problem{Message: err.Error()})}
}

// ofTemplate returns a problem of a definition or of a rendered template. Users do not own the
// templates of kinds, so it names the field of the spec that the value comes from instead.
func (s *Set) ofTemplate(object client.Object, p cfntemplate.Problem) yamltree.Problem {
	if definition, ok := object.(*v1alpha1.ModelDefinition); ok {
		text, path := p.Text(), p.Path
		if field, ok := strings.CutPrefix(p.Pos.File, definition.Name+"."); ok { // a template in the definition
			path = field
			text = fmt.Sprintf("line %d, column %d: %s", p.Pos.Line, p.Pos.Column, text)
		}
		return yamltree.Problem{Path: path, Message: strings.TrimPrefix(text, path+": ")}
	}
	if p.Pos.Line == 0 && strings.HasPrefix(p.Pos.File, "spec") { // a field of a derived kind
		return yamltree.Problem{Path: p.Pos.File, Message: p.Text()}
	}
	kind := s.models[object.GetObjectKind().GroupVersionKind().Kind]
	if kind == nil || p.Pos.File != kind.Name+".yaml" {
		return yamltree.Problem{Message: p.Error()} // The user's own template.
	}
	const property = 3 // of Resources/ID/Properties/PROPERTY/…
	if parts := strings.Split(p.Path, "/"); len(parts) > property {
		field := model.FieldName(parts[property])
		if _, ok := kind.Schema.Properties[field]; ok {
			return yamltree.Problem{Path: "spec." + field, Message: p.Text()}
		}
	}
	return yamltree.Problem{Path: "spec", Message: fmt.Sprintf("the stack would be invalid at %s: %s", p.Path, p.Text())}
}
