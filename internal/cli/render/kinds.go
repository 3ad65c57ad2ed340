package render

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	servicev1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/service/kinds"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// stackOf returns the stack of an object, or nil if its kind makes no stack. It makes up the
// outputs of other objects that the stack uses; values of ConfigMaps and Secrets are its parameters.
func stackOf(known *kinds.Set, m *manifest.Manifest, facts render.Facts) (*render.Desired, error) {
	object, ok := m.Object.(*servicev1alpha1.Object)
	if !ok {
		return nil, nil //nolint:nilnil // no stack is a valid answer
	}
	kind, err := known.Model(object.Kind)
	if err != nil {
		return nil, err
	}
	object.Namespace = cmp.Or(object.Namespace, metav1.NamespaceDefault)
	references, err := render.References(kind, object)
	if err != nil {
		return nil, err
	}
	facts.References, facts.Siblings = map[string]map[string]any{}, map[string][]any{}
	siblings := map[string]any{}
	for _, reference := range references {
		facts.References[reference.Name] = known.ExampleOutputs(reference, facts)
		siblings[reference.Name] = facts.References[reference.Name]
		facts.Siblings[reference.Name] = []any{siblings}
	}
	changed, secrets, err := known.WithValues(kind, object, func(from render.Source) (render.Value, error) {
		return known.ExampleValue(from, facts)
	})
	if err != nil {
		return nil, err
	}
	facts.Secrets = secrets
	return known.Stack(kind, changed, facts)
}
