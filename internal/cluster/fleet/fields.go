package fleet

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

const (
	fieldSpec   = "spec"
	fieldAddons = "addons"
	fieldName   = "name"
)

// Fields are the fields that a Fleet sets of an object.
type Fields struct {
	// spec is the content as part of the object's spec.
	spec   map[string]any
	fields []field
	// set are the paths that a field manager may own that applies all fields.
	set *fieldpath.Set
}

// field is one field that a Fleet sets, with the path as the API server has it in managedFields.
type field struct {
	path  fieldpath.Path
	value any
}

func newFields(spec map[string]any) *Fields {
	f := &Fields{spec: spec, set: &fieldpath.Set{}}
	if len(spec) > 0 {
		f.add(fieldpath.MakePathOrDie(fieldSpec), spec)
	}
	return f
}

// add adds the fields below a path. Addons are a map by their names, all other lists are atomic.
func (f *Fields) add(path fieldpath.Path, content any) {
	f.set.Insert(path) // also of objects, which have owners where the schema does not name their fields
	if of, ok := content.(map[string]any); ok && len(of) > 0 {
		for _, name := range sortedKeys(of) {
			if addons, ok := of[name].([]any); ok && name == fieldAddons && len(path) == 1 {
				f.addAddons(join(path, fieldpath.FieldNameElement(name)), addons)
				continue
			}
			f.add(join(path, fieldpath.FieldNameElement(name)), of[name])
		}
		return
	}
	f.fields = append(f.fields, field{path, content})
}

func (f *Fields) addAddons(path fieldpath.Path, addons []any) {
	for _, one := range addons {
		addon, ok := one.(map[string]any)
		if !ok {
			continue
		}
		f.add(join(path, fieldpath.KeyElementByFields(fieldName, addon[fieldName])), addon)
	}
}

func sortedKeys(of map[string]any) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// join returns a path of its own that ends with an element.
func join(path fieldpath.Path, element fieldpath.PathElement) fieldpath.Path {
	return append(slices.Clone(path), element)
}

// compare compares the fields with an object. Conflicts are further fields of others, as the API server named them when
// the fields were applied.
func (f *Fields) compare(of object, manager string, conflicts []string) (Comparison, error) {
	spec, err := of.content()
	if err != nil {
		return Comparison{}, fmt.Errorf("read the spec of %s: %w", of, err)
	}
	mine, others, err := owners(of.GetManagedFields(), manager)
	if err != nil {
		return Comparison{}, fmt.Errorf("read the owners of the fields of %s: %w", of, err)
	}
	var c Comparison
	for _, one := range f.fields {
		live, found := lookUp(spec, one.path[1:])
		switch {
		case found && reflect.DeepEqual(live, one.value):
			c.Unclaimed = c.Unclaimed || !mine.Has(one.path)
		case others.Has(one.path) || slices.Contains(conflicts, one.path.String()):
			if yields(of.GetAnnotations(), one.path.String()) {
				c.Outdated, c.Yielded = true, true
				continue
			}
			c.Overridden = append(c.Overridden, one.path.String())
		default:
			c.Outdated = true
		}
	}
	former := !mine.Difference(f.set).Empty()
	c.Outdated = c.Outdated || former
	c.Whole = len(c.Overridden) == len(f.fields) && !former
	return c, nil
}

// yields reports whether an object lets a Fleet take a field, or one that it is part of, from other field managers.
func yields(annotations map[string]string, path string) bool {
	for one := range strings.SplitSeq(annotations[v1alpha1.FleetOwnsAnnotation], ",") {
		name := "." + strings.TrimSpace(one)
		if name == ".*" || path == name || strings.HasPrefix(path, name+".") || strings.HasPrefix(path, name+"[") {
			return true
		}
	}
	return false
}

// owners returns the fields of the spec that a manager has applied, and those that all others have set.
func owners(entries []metav1.ManagedFieldsEntry, manager string) (mine, others *fieldpath.Set, err error) {
	mine, others = &fieldpath.Set{}, &fieldpath.Set{}
	for i := range entries {
		entry := &entries[i]
		if entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		var set fieldpath.Set
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, nil, fmt.Errorf("manager %s: %w", entry.Manager, err)
		}
		if entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply {
			mine = mine.Union(&set)
			continue
		}
		others = others.Union(&set)
	}
	return mine, others, nil
}

// lookUp returns the value at a path.
func lookUp(content any, path fieldpath.Path) (any, bool) {
	for _, element := range path {
		switch of := content.(type) {
		case map[string]any:
			if element.FieldName == nil {
				return nil, false
			}
			next, ok := of[*element.FieldName]
			if !ok {
				return nil, false
			}
			content = next
		case []any:
			next := slices.IndexFunc(of, func(item any) bool { return isItem(item, element) })
			if next < 0 {
				return nil, false
			}
			content = of[next]
		default:
			return nil, false
		}
	}
	return content, true
}

// isItem reports whether an item of a list has the key of an element of a path.
func isItem(item any, element fieldpath.PathElement) bool {
	of, ok := item.(map[string]any)
	if !ok || element.Key == nil {
		return false
	}
	for _, key := range *element.Key {
		if !value.Equals(key.Value, value.NewValueInterface(of[key.Name])) {
			return false
		}
	}
	return true
}

// without returns the fields as part of an object's spec, without some.
func (f *Fields) without(overridden []string) map[string]any {
	spec := runtime.DeepCopyJSON(f.spec)
	for _, one := range f.fields {
		if slices.Contains(overridden, one.path.String()) {
			remove(spec, one.path[1:])
		}
	}
	return spec
}

// remove removes the field at a path, and the objects that are empty without it.
func remove(from map[string]any, path fieldpath.Path) {
	last := len(path) - 1
	parent, found := lookUp(from, path[:last])
	of, ok := parent.(map[string]any)
	if !found || !ok || path[last].FieldName == nil {
		return
	}
	delete(of, *path[last].FieldName)
	if len(of) == 0 && last > 0 {
		remove(from, path[:last])
	}
}
