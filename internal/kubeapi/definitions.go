package kubeapi

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// kinds are what one API serves: the built-in kinds, and those that its CustomResourceDefinitions
// define.
type kinds struct {
	mu      sync.RWMutex
	defined []*kind
}

func (k *kinds) all() []*kind {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if len(k.defined) == 0 {
		return builtin
	}
	return slices.Concat(builtin, k.defined)
}

func (k *kinds) find(group, version, plural string) *kind {
	if found := findKind(group, version, plural); found != nil {
		return found
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	return findIn(k.defined, group, version, plural)
}

// add serves a kind unless it is served already.
func (k *kinds) add(one *kind) {
	if k.find(one.group, one.version, one.Name) != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.defined = append(slices.Clone(k.defined), one)
}

// drop ends to serve a kind.
func (k *kinds) drop(one *kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.defined = slices.DeleteFunc(slices.Clone(k.defined), func(other *kind) bool {
		return other.group == one.group && other.version == one.version && other.Name == one.Name
	})
}

// define serves the kind of a definition, or ends to. What there is of a kind that is not served
// any more stays unseen. It is called under the store's lock.
func (s *Server) define(c change) {
	if c.kind != definitionKind {
		return
	}
	for _, one := range definedBy(c.object) {
		if c.event == watch.Deleted {
			s.kinds.drop(one)
		} else {
			s.kinds.add(one)
		}
	}
}

// definedBy reads which kind a definition defines: one, in the version that it is stored in.
func definedBy(definition *unstructured.Unstructured) []*kind {
	text := func(path ...string) string {
		value, _, _ := unstructured.NestedString(definition.Object, path...) // Without these fields, the definition has no kind.
		return value
	}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	short, _, _ := unstructured.NestedStringSlice(definition.Object, "spec", "names", "shortNames")
	for _, one := range versions {
		version, _ := one.(map[string]any)
		if stored, _ := version["storage"].(bool); !stored {
			continue
		}
		name, _ := version["name"].(string)
		return []*kind{{group: text("spec", "group"), version: name, APIResource: metav1.APIResource{
			Name: text("spec", "names", "plural"), SingularName: strings.ToLower(text("spec", "names", "kind")),
			Kind:       text("spec", "names", "kind"),
			Namespaced: text("spec", "scope") == "Namespaced", Verbs: allVerbs, ShortNames: short,
		}}}
	}
	return nil
}

// establish says of a new definition that it is in force.
func establish(definition *unstructured.Unstructured, now time.Time) {
	var conditions []any
	for _, conditionType := range []string{"NamesAccepted", "Established"} {
		conditions = append(conditions, map[string]any{
			"type": conditionType, "status": "True", "reason": "Served", "message": "the kind is served",
			"lastTransitionTime": now.UTC().Format(time.RFC3339),
		})
	}
	_ = unstructured.SetNestedSlice(
		definition.Object, conditions, "status", "conditions",
	) // A status that is no object is not served either.
}

// wantsMetadata says whether a client asks for metadata only.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches
func wantsMetadata(req *http.Request) bool {
	return strings.Contains(req.Header.Get("Accept"), "as=PartialObjectMetadata")
}

// metadataOf is an object without what it holds.
func metadataOf(object *unstructured.Unstructured) map[string]any {
	return map[string]any{
		"apiVersion": metav1.SchemeGroupVersion.String(), "kind": "PartialObjectMetadata", "metadata": object.Object["metadata"],
	}
}

// whole is an object with what it holds.
func whole(object *unstructured.Unstructured) map[string]any { return object.Object }
