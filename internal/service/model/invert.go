package model

import (
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

// SpecOf returns the spec of an object whose resource has the given properties, in the form in which AWS
// returns them, and whether the kind can say all that matters of it: it does not check whether the
// template then has these properties. Kinds with a template of their own need [Model.Infer].
func (m *Model) SpecOf(live map[string]any) (map[string]any, bool) {
	if m.ownTemplate || m.fields == nil {
		return nil, false
	}
	resource, ok := m.registry.Type(m.ResourceType)
	if !ok {
		return nil, false
	}
	spec, ok := m.fields.invert(Settable(resource, live), "", resource.ReadOnly).(map[string]any)
	return spec, ok
}

// Settable returns the properties that a template can set: those that AWS computes, those that are empty
// and tags that belong to AWS are not among them.
func Settable(resource *schema.Type, live map[string]any) map[string]any {
	set := map[string]any{}
	for name, value := range live {
		if slices.Contains(resource.ReadOnly, name) || resource.Root.Properties[name] == nil {
			continue
		}
		if name == resource.TagProperty {
			value = withoutReserved(value)
		}
		if !isEmpty(value) {
			set[name] = value
		}
	}
	return set
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return false
	}
}

// withoutReserved returns tags without those of AWS, which no template can set.
// https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html
func withoutReserved(tags any) any {
	const reserved = "aws:"
	switch list := tags.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, value := range list {
			if !strings.HasPrefix(key, reserved) {
				kept[key] = value
			}
		}
		return kept
	case []any:
		return slices.DeleteFunc(slices.Clone(list), func(tag any) bool {
			of, _ := tag.(map[string]any)
			key, _ := of["Key"].(string)
			return strings.HasPrefix(key, reserved)
		})
	default:
		return tags
	}
}

// invert converts the value of a property at a path to that of its field.
func (s *shape) invert(value any, path string, readOnly []string) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for property, child := range v {
			name, below := s.field(property)
			at := strings.TrimPrefix(path+"/"+property, "/")
			if child != nil && !slices.Contains(readOnly, at) {
				out[name] = below.invert(child, at, readOnly)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, child := range v {
			out[i] = s.below().invert(child, path+"/*", readOnly)
		}
		return out
	default:
		return value
	}
}
