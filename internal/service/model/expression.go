package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Text is a compiled Go template.
type Text struct {
	source string
	// literal means that the source contains nothing to compute.
	literal bool
	tmpl    *template.Template
}

// ParseText compiles a template whose result is plain text: the name of an object, or a value in a
// ConfigMap. Name is for messages.
func ParseText(name, source string) (*Text, error) {
	t := &Text{source: source, literal: !strings.Contains(source, "{{")}
	if t.literal {
		return t, nil
	}
	tmpl, err := template.New(name).Funcs(functions(nil)).Option("missingkey=default").Parse(source)
	if err != nil {
		return nil, syntaxProblem(name, err)
	}
	for _, each := range tmpl.Templates() {
		appendFunction(each.Root, "text")
	}
	t.tmpl = tmpl
	return t, nil
}

// ParseStackTemplate compiles the template of a stack. Every interpolation is quoted as YAML, so it
// must be in the place of a whole YAML value. Properties, which may be nil, implements the template
// function of that name.
func ParseStackTemplate(name, source string, properties func(spec any) (map[string]any, error)) (*Text, error) {
	tmpl, err := template.New(name).Funcs(functions(properties)).Option("missingkey=default").Parse(source)
	if err != nil {
		return nil, syntaxProblem(name, err)
	}
	for _, each := range tmpl.Templates() {
		appendFunction(each.Root, "quoteYAML")
	}
	return &Text{source: source, tmpl: tmpl}, nil
}

// Source returns the template's text.
func (t *Text) Source() string { return t.source }

// Execute renders the template. An error names the line of the template.
func (t *Text) Execute(data map[string]any) (string, error) {
	if t.literal {
		return t.source, nil
	}
	var out bytes.Buffer
	if err := t.tmpl.Execute(&out, data); err != nil {
		return "", syntaxProblem(t.tmpl.Name(), err)
	}
	return out.String(), nil
}

// appendFunction pipes every printed value through the function.
func appendFunction(node parse.Node, function string) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, child := range n.Nodes {
			appendFunction(child, function)
		}
	case *parse.ActionNode:
		if len(n.Pipe.Decl) == 0 {
			identifier := parse.NewIdentifier(function).SetPos(n.Pos)
			n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{identifier}})
		}
	case *parse.IfNode:
		appendFunction(n.List, function)
		appendFunction(n.ElseList, function)
	case *parse.RangeNode:
		appendFunction(n.List, function)
		appendFunction(n.ElseList, function)
	case *parse.WithNode:
		appendFunction(n.List, function)
		appendFunction(n.ElseList, function)
	}
}

// functions are the template functions besides those of text/template.
func functions(properties func(any) (map[string]any, error)) template.FuncMap {
	if properties == nil {
		properties = func(any) (map[string]any, error) {
			return nil, fmt.Errorf("properties needs a resourceType in the ModelDefinition")
		}
	}
	return template.FuncMap{
		"collect":    collect,
		"contains":   func(part, s string) bool { return strings.Contains(s, part) },
		"default":    defaultTo,
		"get":        get,
		"hasPrefix":  func(prefix string, s any) bool { return strings.HasPrefix(asText(s), prefix) },
		"hasSuffix":  func(suffix string, s any) bool { return strings.HasSuffix(asText(s), suffix) },
		"join":       join,
		"named":      named,
		"lower":      func(s any) string { return strings.ToLower(asText(s)) },
		"properties": properties,
		"positive":   positive,
		"quoteYAML":  quoteYAML,
		"replace":    func(from, to string, s any) string { return strings.ReplaceAll(asText(s), from, to) },
		"set":        func(v any) bool { return v != nil && v != "" },
		"split":      split,
		"text":       asText,
		"trimSuffix": func(suffix string, s any) string { return strings.TrimSuffix(asText(s), suffix) },
		"upper":      func(s any) string { return strings.ToUpper(asText(s)) },
	}
}

// defaultTo returns value unless it is unset or empty.
func defaultTo(fallback, value any) any {
	if value == nil || value == "" {
		return fallback
	}
	return value
}

// collect returns the distinct values at a dotted path of the elements of a list.
func collect(path string, list any) []any {
	items, _ := list.([]any)
	values := []any{}
	for _, item := range items {
		if value := get(path, item); value != nil && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}

// positive reports whether a value is a number greater than zero.
func positive(value any) bool {
	number, err := strconv.ParseFloat(asText(value), 64)
	return err == nil && number > 0
}

// get returns the value at a dotted path, or nil.
func get(path string, from any) any {
	for part := range strings.SplitSeq(path, ".") {
		m, ok := from.(map[string]any)
		if !ok {
			return nil
		}
		from = m[part]
	}
	return from
}

// split splits a comma-separated string, and drops blanks and empty parts.
func split(s any) []any {
	parts := []any{}
	for part := range strings.SplitSeq(asText(s), ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// join concatenates the elements of a list.
func join(separator string, list any) string {
	items, ok := list.([]any)
	if !ok {
		return asText(list)
	}
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = asText(item)
	}
	return strings.Join(texts, separator)
}

// asText formats a value as plain text; an unset value is empty.
func asText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	case int, int64, float64:
		return fmt.Sprint(v)
	default:
		data, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(data)
	}
}

// syntaxProblem converts text/template's errors ("template: NAME:LINE:COLUMN: …") to a problem with
// a position and, for an unknown function, a suggestion.
func syntaxProblem(name string, err error) error {
	message := strings.TrimPrefix(err.Error(), "template: ")
	position := cfntemplate.Position{File: name}
	if rest, ok := strings.CutPrefix(message, name+":"); ok {
		message = rest
		for _, field := range []*int{&position.Line, &position.Column} {
			number, after, found := strings.Cut(message, ":")
			value, err := strconv.Atoi(number)
			if !found || err != nil {
				break
			}
			*field, message = value, after
		}
	}
	if position.Line > 0 && position.Column == 0 {
		position.Column = 1
	}
	message = strings.TrimSpace(message)
	// The reason is the last part of "executing "name" at <.spec.x>: error calling quoteYAML: why".
	message = strings.TrimPrefix(message, fmt.Sprintf("executing %q at ", name))
	message = strings.ReplaceAll(message, "error calling quoteYAML: ", "")
	problem := cfntemplate.Problem{Pos: position, Message: message}
	if _, after, ok := strings.Cut(message, `function "`); ok {
		unknown, _, _ := strings.Cut(after, `"`)
		problem.Suggestion = nearest(unknown, slices.Sorted(maps.Keys(functions(nil))))
	}
	return cfntemplate.Problems{problem}
}
