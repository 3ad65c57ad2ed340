package simulated

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
)

// Validate returns the errors in a resource's properties. Each has the JSON pointer and the message
// of CloudFormation's schema validator, such as "#/Volumes/0: extraneous key [Foo] is not
// permitted". The messages are those of
// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-schema.html as
// users report them.
func Validate(t *schema.Type, properties map[string]any) []string {
	v := validator{t: t}
	v.check("#", t.Root, asAny(properties))
	for _, path := range t.ReadOnly {
		if _, given := properties[path]; given && !slices.Contains(t.Root.Required, path) {
			v.add("#", "extraneous key [%s] is not permitted", path)
		}
	}
	return v.problems
}

func asAny(m map[string]any) any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

type validator struct {
	t        *schema.Type
	problems []string
	depth    int
}

func (v *validator) add(path, format string, args ...any) {
	v.problems = append(v.problems, path+": "+fmt.Sprintf(format, args...))
}

func (v *validator) keyword(path, keyword string) {
	v.add(path, "failed validation constraint for keyword [%s]", keyword)
}

func (v *validator) check(path string, p *schema.Property, value any) {
	p = v.t.Resolve(p)
	if p == nil || v.depth > 60 {
		return
	}
	v.depth++
	defer func() { v.depth-- }()
	if len(p.Types) > 0 && !slices.ContainsFunc(p.Types, func(kind string) bool { return isKind(kind, value) }) {
		v.add(path, "expected type: %s, found: %s", javaType(p.Types[0]), foundType(value))
		return
	}
	v.checkEnum(path, p, value)
	switch value := value.(type) {
	case map[string]any:
		v.checkObject(path, p, value)
	case []any:
		v.checkArray(path, p, value)
	case string:
		v.checkString(path, p, value)
	case json.Number, float64:
		v.checkNumber(path, p, value)
	}
	v.checkCombinations(path, p, value)
}

func isKind(kind string, value any) bool {
	switch kind {
	case "object":
		_, ok := value.(map[string]any)
		return ok
	case "array":
		_, ok := value.([]any)
		return ok
	case "string":
		_, ok := value.(string)
		return ok
	case "boolean":
		_, ok := value.(bool)
		return ok
	case "number":
		_, ok := asFloat(value)
		return ok
	case "integer":
		f, ok := asFloat(value)
		return ok && f == math.Trunc(f)
	case "null":
		return value == nil
	}
	return true
}

func asFloat(value any) (float64, bool) {
	switch n := value.(type) {
	case float64:
		return n, true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	case int:
		return float64(n), true
	}
	return 0, false
}

func javaType(kind string) string {
	switch kind {
	case "object":
		return "JSONObject"
	case "array":
		return "JSONArray"
	case "":
		return ""
	}
	return strings.ToUpper(kind[:1]) + kind[1:]
}

func foundType(value any) string {
	switch value.(type) {
	case map[string]any:
		return "JSONObject"
	case []any:
		return "JSONArray"
	case string:
		return "String"
	case bool:
		return "Boolean"
	case nil:
		return "Null"
	}
	if isKind("integer", value) {
		return "Integer"
	}
	return "BigDecimal"
}

func (v *validator) checkEnum(path string, p *schema.Property, value any) {
	text := fmt.Sprint(value)
	if len(p.Enum) > 0 && !slices.ContainsFunc(p.Enum, func(e any) bool { return fmt.Sprint(e) == text }) {
		v.keyword(path, "enum")
	}
	if len(p.EnumCaseInsensitive) > 0 &&
		!slices.ContainsFunc(p.EnumCaseInsensitive, func(e any) bool { return strings.EqualFold(fmt.Sprint(e), text) }) {
		v.keyword(path, "enum")
	}
	if p.Const != nil && fmt.Sprint(p.Const) != text {
		v.keyword(path, "const")
	}
}

func (v *validator) checkObject(path string, p *schema.Property, object map[string]any) {
	for _, name := range p.Required {
		if _, ok := object[name]; !ok {
			v.add(path, "required key [%s] not found", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		v.checkMember(path, p, name, object[name])
	}
	if p.MinProperties != nil && len(object) < *p.MinProperties {
		v.add(path, "minimum size: [%d], found: [%d]", *p.MinProperties, len(object))
	}
	if p.MaxProperties != nil && len(object) > *p.MaxProperties {
		v.add(path, "maximum size: [%d], found: [%d]", *p.MaxProperties, len(object))
	}
	v.checkTogether(path, p, object)
}

func (v *validator) checkMember(path string, p *schema.Property, name string, value any) {
	known := false
	if child, ok := p.Properties[name]; ok {
		known = true
		v.check(path+"/"+name, child, value)
	}
	for pattern, child := range p.PatternProperties {
		if Matches(pattern, name) {
			known = true
			v.check(path+"/"+name, child, value)
		}
	}
	if known {
		return
	}
	if p.AdditionalProperties != nil {
		v.check(path+"/"+name, p.AdditionalProperties, value)
		return
	}
	if p.Closed {
		v.add(path, "extraneous key [%s] is not permitted", name)
	}
}

// checkTogether checks which properties require or exclude one another.
func (v *validator) checkTogether(path string, p *schema.Property, object map[string]any) {
	given := func(name string) bool { _, ok := object[name]; return ok }
	for _, name := range slices.Sorted(maps.Keys(p.DependentRequired)) {
		for _, other := range p.DependentRequired[name] {
			if given(name) && !given(other) {
				v.add(path, "property [%s] is required", other)
			}
		}
	}
}

func (v *validator) checkArray(path string, p *schema.Property, items []any) {
	if p.MinItems != nil && len(items) < *p.MinItems {
		v.add(path, "expected minimum item count: %d, found: %d", *p.MinItems, len(items))
	}
	if p.MaxItems != nil && len(items) > *p.MaxItems {
		v.add(path, "expected maximum item count: %d, found: %d", *p.MaxItems, len(items))
	}
	for i, item := range items {
		if p.UniqueItems && slices.ContainsFunc(items[:i], func(o any) bool { return reflect.DeepEqual(o, item) }) {
			v.add(path, "array items are not unique")
		}
		switch {
		case i < len(p.PrefixItems):
			v.check(path+"/"+strconv.Itoa(i), p.PrefixItems[i], item)
		case p.Items != nil:
			v.check(path+"/"+strconv.Itoa(i), p.Items, item)
		}
	}
}

func (v *validator) checkString(path string, p *schema.Property, text string) {
	length := utf8.RuneCountInString(text)
	if p.MinLength != nil && length < *p.MinLength {
		v.add(path, "expected minLength: %d, actual: %d", *p.MinLength, length)
	}
	if p.MaxLength != nil && length > *p.MaxLength {
		v.add(path, "expected maxLength: %d, actual: %d", *p.MaxLength, length)
	}
	if p.Pattern != "" && !Matches(p.Pattern, text) {
		v.keyword(path, "pattern")
	}
}

func (v *validator) checkNumber(path string, p *schema.Property, value any) {
	n, ok := asFloat(value)
	if !ok {
		return
	}
	if p.Minimum != nil && n < *p.Minimum {
		v.keyword(path, "minimum")
	}
	if p.Maximum != nil && n > *p.Maximum {
		v.keyword(path, "maximum")
	}
	if p.ExclusiveMinimum != nil && n <= *p.ExclusiveMinimum {
		v.keyword(path, "exclusiveMinimum")
	}
	if p.ExclusiveMaximum != nil && n >= *p.ExclusiveMaximum {
		v.keyword(path, "exclusiveMaximum")
	}
	if p.MultipleOf != nil && *p.MultipleOf > 0 && math.Mod(n, *p.MultipleOf) != 0 {
		v.keyword(path, "multipleOf")
	}
}

func (v *validator) checkCombinations(path string, p *schema.Property, value any) {
	for _, branch := range p.AllOf {
		v.check(path, branch, value)
	}
	if len(p.AnyOf) > 0 && v.matching(p.AnyOf, value) == 0 {
		v.add(path, "#: no subschema matched out of the total %d subschemas", len(p.AnyOf))
	}
	if len(p.OneOf) > 0 {
		if n := v.matching(p.OneOf, value); n != 1 {
			v.add(path, "#: %d subschemas matched instead of one", n)
		}
	}
	object, isObject := value.(map[string]any)
	if !isObject {
		return
	}
	given := func(name string) bool { _, ok := object[name]; return ok }
	if n := count(p.RequiredXor, given); len(p.RequiredXor) > 0 && n != 1 {
		v.add(path, "#: %d subschemas matched instead of one", n)
	}
	if len(p.RequiredOr) > 0 && count(p.RequiredOr, given) == 0 {
		v.add(path, "#: no subschema matched out of the total %d subschemas", len(p.RequiredOr))
	}
}

func count(names []string, given func(string) bool) int {
	n := 0
	for _, name := range names {
		if given(name) {
			n++
		}
	}
	return n
}

func (v *validator) matching(branches []*schema.Property, value any) int {
	n := 0
	for _, branch := range branches {
		trial := validator{t: v.t, depth: v.depth}
		trial.check("#", branch, value)
		if len(trial.problems) == 0 {
			n++
		}
	}
	return n
}
