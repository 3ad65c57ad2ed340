package yamltree

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Decode reads a document into what into points to. The error is Problems: fields that the type
// does not have, and values of another kind than their fields.
func Decode(d Document, into any) error {
	c := checker{document: d}
	c.check(d.Value, "", reflect.TypeOf(into).Elem())
	if len(c.problems) > 0 {
		return c.problems
	}
	data, err := json.Marshal(d.Value.Interface())
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return Problems{{File: d.File, Document: d.Number, Line: d.Value.Line, Message: err.Error()}}
	}
	return nil
}

// checker compares a value with a type.
type checker struct {
	document Document
	problems Problems
}

func (c *checker) problem(line int, path, suggestion, format string, args ...any) {
	c.problems = append(c.problems, Problem{
		File: c.document.File, Document: c.document.Number, Line: line, Path: path,
		Message: fmt.Sprintf(format, args...), Suggestion: suggestion,
	})
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (c *checker) check(v *Value, path string, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if v.Kind == Null {
		return
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		c.opaque(v, path, t)
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		c.fields(v, path, t)
	case reflect.Map:
		if !c.is(v, path, Map) {
			return
		}
		for _, entry := range v.Entries {
			c.check(entry.Value, join(path, entry.Key), t.Elem())
		}
	case reflect.Slice, reflect.Array:
		if !c.is(v, path, List) {
			return
		}
		for i, item := range v.Items {
			c.check(item, fmt.Sprintf("%s[%d]", path, i), t.Elem())
		}
	case reflect.Interface:
	default:
		c.scalar(v, path, t)
	}
}

// opaque checks a value whose type reads itself, as a duration.
func (c *checker) opaque(v *Value, path string, t reflect.Type) {
	data, err := json.Marshal(v.Interface())
	if err == nil {
		err = json.Unmarshal(data, reflect.New(t).Interface())
	}
	if err != nil {
		c.problem(v.Line, path, "", "%q is invalid: %v", v.Text, err)
	}
}

func (c *checker) fields(v *Value, path string, t reflect.Type) {
	if !c.is(v, path, Map) {
		return
	}
	known := map[string]reflect.Type{}
	fieldsOf(t, known)
	for _, entry := range v.Entries {
		at := join(path, entry.Key)
		field, ok := known[entry.Key]
		if !ok {
			names := make([]string, 0, len(known))
			for name := range known {
				names = append(names, name)
			}
			slices.Sort(names)
			c.problem(entry.Line, at, template.Closest(entry.Key, names), "there is no such field")
			continue
		}
		c.check(entry.Value, at, field)
	}
}

// fieldsOf collects the fields of a struct by their names in JSON, those of embedded structs with
// them.
func fieldsOf(t reflect.Type, into map[string]reflect.Type) {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
		case field.Anonymous && name == "":
			fieldsOf(field.Type, into)
		case name == "":
			into[field.Name] = field.Type
		default:
			into[name] = field.Type
		}
	}
}

func (c *checker) is(v *Value, path string, kind Kind) bool {
	if v.Kind != kind {
		c.problem(v.Line, path, "", "this is %s, but must be %s", v.Kind, kind)
	}
	return v.Kind == kind
}

func (c *checker) scalar(v *Value, path string, t reflect.Type) {
	switch t.Kind() {
	case reflect.String:
		switch {
		case v.word || v.Kind == Bool || v.Kind == Number:
			c.problem(v.Line, path, "", "YAML does not read %s as a string: put it in quotes", v.Text)
		default:
			c.is(v, path, String)
		}
	case reflect.Bool:
		switch _, ok := v.Truth(); {
		case v.word:
			c.problem(v.Line, path, "", "%s may be text or a boolean: write true or false", v.Text)
		case !ok:
			c.problem(v.Line, path, "", "this is %s, but must be true or false", v.Kind)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n, ok := v.Int(); !ok || reflect.Zero(t).OverflowInt(n) {
			c.problem(v.Line, path, "", "%s is not a valid whole number here", describe(v))
		}
	default:
		c.is(v, path, Number)
	}
}

// describe returns a value's text, or what it is.
func describe(v *Value) string {
	switch v.Kind {
	case List, Map:
		return v.Kind.String()
	case String:
		return fmt.Sprintf("%q", v.Text)
	default:
		return v.Text
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	if strings.ContainsAny(key, "./") {
		return fmt.Sprintf("%s[%q]", path, key)
	}
	return path + "." + key
}
