package wire

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
)

// valuesIn returns the values of a member of an input as texts, by its path ("A.B"): all values of a
// list, the keys of a map.
func valuesIn(input any, path string) []string {
	if input == nil {
		return nil
	}
	return valuesOf(reflect.ValueOf(input), path)
}

func valuesOf(v reflect.Value, path string) (values []string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return valuesOf(v.Elem(), path)
	case reflect.Slice:
		for i := range v.Len() {
			values = append(values, valuesOf(v.Index(i), path)...)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			values = append(values, key.String())
		}
		slices.Sort(values)
	case reflect.Struct:
		member, rest, _ := strings.Cut(path, ".")
		if f := v.FieldByName(member); member != "" && f.IsValid() {
			return valuesOf(f, rest)
		}
		if path == "" {
			return []string{""} // it has structures
		}
	case reflect.String:
		if v.Len() > 0 && path == "" {
			return []string{v.String()}
		}
	case reflect.Bool:
		return []string{boolText(v.Bool())}
	case reflect.Int32, reflect.Int64:
		return []string{strconv.FormatInt(v.Int(), 10)}
	default:
	}
	return values
}

// set sets a condition key from the members of the input.
func (q *request) set(keys map[string][]string, key *access.Key) {
	for _, member := range key.Members {
		if prefix, isMap := strings.CutSuffix(key.Name, ":"); isMap {
			for name, value := range mapIn(q.input, member) {
				keys[prefix+":"+strings.ToLower(name)] = []string{value}
			}
			return
		}
		if values := valuesIn(q.input, member); len(values) > 0 {
			keys[key.Name] = values
			return
		}
	}
}

// mapIn returns a member that is a map of texts.
func mapIn(input any, member string) map[string]string {
	if input == nil {
		return nil
	}
	f := reflect.ValueOf(input).Elem().FieldByName(member)
	if !f.IsValid() {
		return nil
	}
	found, _ := reflect.TypeAssert[map[string]string](f)
	return found
}

// tagKeys sets the condition keys of the tags in the request.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/access_tags.html
func (q *request) tagKeys(keys map[string][]string) {
	if q.input == nil {
		return
	}
	var names []string
	for name, value := range tagsIn(reflect.ValueOf(q.input).Elem()) {
		keys["aws:requesttag/"+strings.ToLower(name)] = []string{value}
		names = append(names, name)
	}
	if names = append(names, valuesIn(q.input, "TagKeys")...); len(names) > 0 {
		slices.Sort(names)
		keys["aws:tagkeys"] = names
	}
}

func tagsIn(input reflect.Value) map[string]string {
	tags := map[string]string{}
	for _, member := range []string{"Tags", "TagSpecifications"} {
		f := input.FieldByName(member)
		switch {
		case !f.IsValid():
		case f.Kind() == reflect.Map:
			found, _ := reflect.TypeAssert[map[string]string](f)
			maps.Copy(tags, found)
		case f.Kind() == reflect.Slice:
			collectTags(f, tags)
		}
	}
	return tags
}

func collectTags(list reflect.Value, tags map[string]string) {
	for i := range list.Len() {
		element := reflect.Indirect(list.Index(i))
		if inner := element.FieldByName("Tags"); inner.IsValid() && inner.Kind() == reflect.Slice {
			collectTags(inner, tags)
			continue
		}
		var pair [2]string
		for at, members := range [][]string{{"Key", "TagKey"}, {"Value", "TagValue"}} {
			for _, member := range members {
				if values := valuesOf(element, member); len(values) > 0 {
					pair[at] = values[0]
				}
			}
		}
		if pair[0] != "" {
			tags[pair[0]] = pair[1]
		}
	}
}
