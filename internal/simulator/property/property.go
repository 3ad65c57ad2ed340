// Package property decodes the resolved properties of CloudFormation resources into Go structures
// as leniently as CloudFormation does: a number may be a string, and a policy may be an object or
// its JSON text.
package property

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

// Document is a property that holds a JSON document, such as a policy: its text.
type Document string

var documentType = reflect.TypeFor[Document]()

// Tag is an element of a list of tags.
type Tag struct{ Key, Value string }

// Decode decodes properties into v, a pointer to a structure whose fields are named like the
// properties. It ignores properties without a field. A value of the wrong type is an InvalidRequest
// error.
func Decode(properties map[string]any, v any) error {
	if err := decode(properties, reflect.ValueOf(v).Elem(), ""); err != nil {
		return resource.Errorf(resource.InvalidRequest, "Properties validation failed: %s", err)
	}
	return nil
}

func decode(from any, v reflect.Value, path string) error {
	if from == nil {
		return nil
	}
	if v.Type() == documentType {
		return decodeDocument(from, v)
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return decode(from, v.Elem(), path)
	case reflect.Struct:
		return decodeStruct(from, v, path)
	case reflect.Slice:
		return decodeSlice(from, v, path)
	case reflect.Map:
		return decodeMap(from, v, path)
	case reflect.Interface:
		v.Set(reflect.ValueOf(from))
		return nil
	default:
		return decodeScalar(from, v, path)
	}
}

func decodeDocument(from any, v reflect.Value) error {
	if text, ok := from.(string); ok {
		v.SetString(text)
		return nil
	}
	text, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("encoding a document: %w", err)
	}
	v.SetString(string(text))
	return nil
}

func decodeStruct(from any, v reflect.Value, path string) error {
	object, ok := from.(map[string]any)
	if !ok {
		return wrong(path, "an object")
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := f.Name
		if tag, ok := f.Tag.Lookup("cfn"); ok {
			name = tag
		}
		if err := decode(object[name], v.Field(i), path+"/"+name); err != nil {
			return err
		}
	}
	return nil
}

func decodeSlice(from any, v reflect.Value, path string) error {
	list, ok := from.([]any)
	if !ok {
		// CloudFormation accepts a single value for a list of one.
		list = []any{from}
	}
	result := reflect.MakeSlice(v.Type(), len(list), len(list))
	for i, item := range list {
		if err := decode(item, result.Index(i), path+"/"+strconv.Itoa(i)); err != nil {
			return err
		}
	}
	v.Set(result)
	return nil
}

func decodeMap(from any, v reflect.Value, path string) error {
	object, ok := from.(map[string]any)
	if !ok {
		return wrong(path, "an object")
	}
	result := reflect.MakeMapWithSize(v.Type(), len(object))
	for key, item := range object {
		element := reflect.New(v.Type().Elem()).Elem()
		if err := decode(item, element, path+"/"+key); err != nil {
			return err
		}
		result.SetMapIndex(reflect.ValueOf(key), element)
	}
	v.Set(result)
	return nil
}

func decodeScalar(from any, v reflect.Value, path string) error {
	text, ok := Text(from)
	if !ok {
		return wrong(path, v.Kind().String())
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return wrong(path, "a boolean")
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n != float64(int64(n)) {
			return wrong(path, "an integer")
		}
		v.SetInt(int64(n))
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return wrong(path, "a number")
		}
		v.SetFloat(n)
	default:
		return wrong(path, v.Kind().String())
	}
	return nil
}

func wrong(path, want string) error {
	return fmt.Errorf("%s: expected %s", path, want)
}

// Text returns a scalar as the text that CloudFormation converts it to. It reports false for lists
// and objects.
func Text(value any) (string, bool) {
	switch t := value.(type) {
	case string:
		return t, true
	case bool:
		return strconv.FormatBool(t), true
	case json.Number:
		return t.String(), true
	case float64:
		return strconv.FormatFloat(t, 'f', -1, 64), true
	case int:
		return strconv.Itoa(t), true
	case int64:
		return strconv.FormatInt(t, 10), true
	default:
		return "", false
	}
}

// Tags merges a resource's own tags over the stack's.
func Tags(stack map[string]string, own []Tag) map[string]string {
	tags := maps.Clone(stack)
	if tags == nil {
		tags = map[string]string{}
	}
	for _, t := range own {
		tags[t.Key] = t.Value
	}
	return tags
}

// TagList is the inverse of [Tags], for reading a resource. The list is sorted and omits aws: tags,
// as CloudFormation does.
func TagList(tags map[string]string) []any {
	list := []any{}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if !strings.HasPrefix(key, "aws:") {
			list = append(list, map[string]any{"Key": key, "Value": tags[key]})
		}
	}
	return list
}

// OwnTags returns the sorted tags of a resource without those that CloudFormation added from the
// stack, or nil if there are none.
func OwnTags(tags, stack map[string]string) []any {
	var list []any
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		value, inherited := stack[key]
		if !strings.HasPrefix(key, "aws:") && (!inherited || value != tags[key]) {
			list = append(list, map[string]any{"Key": key, "Value": tags[key]})
		}
	}
	return list
}

const nameAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Name generates a physical name as CloudFormation does for a resource without one: stack, logical
// ID and twelve random characters, cut to limit, with the suffix (".fifo").
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-name.html
func Name(r resource.Request, limit int, suffix string) string {
	random := make([]byte, 12)
	_, _ = rand.Read(random) // never fails, see crypto/rand
	for i := range random {
		random[i] = nameAlphabet[int(random[i])%len(nameAlphabet)]
	}
	tail := "-" + string(random) + suffix
	stack, logical := r.StackName, r.LogicalID
	if over := len(stack) + 1 + len(logical) + len(tail) - limit; over > 0 {
		keep := max(limit-len(tail)-1, 2)
		half := keep / 2
		stack = stack[:min(len(stack), max(half, keep-len(logical)))]
		logical = logical[:min(len(logical), keep-len(stack))]
	}
	return stack + "-" + logical + tail
}

// Plain converts a structure of the SDK, whose members have the names of properties, to properties, and omits unset
// members. It returns nil for a nil pointer.
func Plain(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var tree any
	if json.Unmarshal(text, &tree) != nil {
		return nil
	}
	return prune(tree)
}

func prune(tree any) any {
	switch t := tree.(type) {
	case map[string]any:
		for name, v := range t {
			if v = prune(v); v == nil || v == "" {
				delete(t, name)
			} else {
				t[name] = v
			}
		}
	case []any:
		for n := range t {
			t[n] = prune(t[n])
		}
	}
	return tree
}
