package chartrender

import (
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// Patch changes one object.
type Patch struct {
	// Kind and Name identify the object.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Patch is a strategic merge patch for Kubernetes' own kinds, and a JSON merge patch for
	// others.
	Patch json.RawMessage `json:"patch"`
}

// head identifies an object.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
}

// patcher applies patches and records which of them found their object.
type patcher struct {
	patches []Patch
	used    []bool
}

// apply applies the matching patches to an object in JSON.
func (p *patcher) apply(object []byte) ([]byte, error) {
	var of head
	if err := json.Unmarshal(object, &of); err != nil {
		return nil, fmt.Errorf("parse an object: %w", err)
	}
	for i := range p.patches {
		patch := &p.patches[i]
		if patch.Kind != of.Kind || patch.Name != of.Metadata.Name {
			continue
		}
		patched, err := merge(object, patch.Patch, schema.FromAPIVersionAndKind(of.APIVersion, of.Kind))
		if err != nil {
			return nil, fmt.Errorf("patch %s %s: %w", patch.Kind, patch.Name, err)
		}
		object, p.used[i] = patched, true
	}
	return object, nil
}

func merge(object, patch []byte, kind schema.GroupVersionKind) ([]byte, error) {
	typed, err := scheme.Scheme.New(kind)
	if err != nil { // Not a built-in kind.
		return jsonpatch.MergePatch(object, patch) //nolint:wrapcheck // The caller names the object.
	}
	return strategicpatch.StrategicMergePatch(object, patch, typed) //nolint:wrapcheck // The caller names the object.
}

// unused returns an error that names a patch whose object the chart does not render, nil if there
// is none.
func (p *patcher) unused() error {
	for i, used := range p.used {
		if !used {
			return fmt.Errorf(
				"the chart renders no %s %s, which a patch names; correct the patch's kind and name, or remove it",
				p.patches[i].Kind,
				p.patches[i].Name,
			)
		}
	}
	return nil
}
