package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

// maxDefinitionName is how much of a ModelDefinition's name the names of its revisions have: at most 253
// characters are possible.
const maxDefinitionName = 240

// NewRevision returns the revision of a ModelDefinition as it is. Definitions with the same name and the same
// spec have the same revision; how they are rolled out does not matter.
func NewRevision(definition *v1alpha1.ModelDefinition) (*v1alpha1.ModelRevision, error) {
	spec := definition.Spec.DeepCopy()
	spec.Rollout = nil
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode ModelDefinition %s: %w", definition.Name, err)
	}
	name, err := revisionName(definition.Name, text)
	if err != nil {
		return nil, err
	}
	return &v1alpha1.ModelRevision{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ModelRevision"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.ModelRevisionSpec{ModelDefinition: definition.Name, Kind: spec.ObjectKind(), Definition: text},
	}, nil
}

// revisionName returns the name of the revision of a ModelDefinition with a spec. The order of the spec's fields
// and its spaces do not matter, since the API server may change them.
func revisionName(definition string, spec []byte) (string, error) {
	var value any
	if err := json.Unmarshal(spec, &value); err != nil {
		return "", fmt.Errorf("decode a revision of ModelDefinition %s: %w", definition, err)
	}
	ordered, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode a revision of ModelDefinition %s: %w", definition, err)
	}
	sum := sha256.Sum256(append([]byte(definition+"\n"), ordered...))
	return definition[:min(len(definition), maxDefinitionName)] + "-" + hex.EncodeToString(sum[:5]), nil
}

// CompileRevision compiles a revision, after it has checked that the content is what the name says: otherwise
// another client has changed it.
func CompileRevision(revision *v1alpha1.ModelRevision, registry *schema.Registry) (*Model, error) {
	name, err := revisionName(revision.Spec.ModelDefinition, revision.Spec.Definition)
	if err != nil {
		return nil, err
	}
	if name != revision.Name {
		return nil, fmt.Errorf("the content of ModelRevision %s was changed", revision.Name)
	}
	spec := &v1alpha1.ModelDefinitionSpec{}
	if err := json.Unmarshal(revision.Spec.Definition, spec); err != nil {
		return nil, fmt.Errorf("decode ModelRevision %s: %w", revision.Name, err)
	}
	return Compile(revision.Spec.ModelDefinition, spec, registry)
}

// CRDFor returns the CustomResourceDefinition of a kind while objects use older models of it. It has the fields
// of these too: the API server would remove the values of other fields.
func (m *Model) CRDFor(older []*Model) *apiextensionsv1.CustomResourceDefinition {
	crd := m.CRD()
	root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, old := range older {
		theirs := old.rootSchema()
		for _, field := range []string{"spec", "status"} {
			own, past := root.Properties[field], theirs.Properties[field]
			keepFields(&own, &past)
			root.Properties[field] = own
		}
	}
	return crd
}

// keepFields adds the fields that only the older of two schemas has.
func keepFields(current, older *apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(older.Properties)) {
		past := older.Properties[name]
		own, known := current.Properties[name]
		switch {
		case !known:
			past = *past.DeepCopy()
			past.Description = strings.TrimSpace("Removed from the definition: only objects of an older revision use it. " + past.Description)
			if current.Properties == nil {
				current.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
			}
			current.Properties[name] = past
		default:
			keepFields(&own, &past)
			current.Properties[name] = own
		}
	}
	if current.Items != nil && current.Items.Schema != nil && older.Items != nil && older.Items.Schema != nil {
		keepFields(current.Items.Schema, older.Items.Schema)
	}
}
