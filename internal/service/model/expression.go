package model

import (
	"bytes"
	"encoding/json"
	"errors"
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
	// strict returns an error for unset values; nil in the template of a stack, whose tmpl does.
	strict *template.Template
}

// UnsetError means that a text prints a value that the object does not have.
type UnsetError struct {
	// Value is the expression, for example .output.arn.
	Value string
}

// Error names the expression.
func (e *UnsetError) Error() string { return "{{ " + e.Value + " }} has no value" }

// ParseText compiles a template whose result is plain text: the name of an object, or a value in a
// ConfigMap. Name is for messages.
func ParseText(name, source string) (*Text, error) {
	t, err := parseText(name, source)
	if err != nil || t.literal {
		return t, err
	}
	if err := checkCalls(t.tmpl); err != nil {
		return nil, err
	}
	return t, nil
}

// parseText is ParseText for a text in which calls of templates are refused, or counted, afterwards.
func parseText(name, source string) (*Text, error) {
	t := &Text{source: source, literal: !strings.Contains(source, "{{")}
	if t.literal {
		return t, nil
	}
	tmpl, err := template.New(name).Funcs(functions(nil)).Option("missingkey=default").Parse(source)
	if err != nil {
		return nil, syntaxProblem(name, err)
	}
	for _, each := range tmpl.Templates() {
		eachNode(each.Root, nil, func(n *parse.ActionNode) { printBy(n, "printText", n.Pipe.String()) })
	}
	t.tmpl = tmpl
	if t.strict, err = tmpl.Clone(); err != nil {
		return nil, syntaxProblem(name, err)
	}
	t.strict.Funcs(template.FuncMap{"printText": func(source string, value any) (string, error) {
		if value == nil {
			return "", &UnsetError{Value: source}
		}
		return asText(value), nil
	}})
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
	if err := checkCalls(tmpl); err != nil {
		return nil, err
	}
	for _, each := range tmpl.Templates() {
		eachNode(each.Root, nil, func(n *parse.ActionNode) { printBy(n, "printYAML", n.Pipe.String()) })
	}
	return &Text{source: source, tmpl: tmpl}, nil
}

// Source returns the template's text.
func (t *Text) Source() string { return t.source }

// Execute renders the template. In a text, an unset value is empty. The error is a *RefusedError if the template
// refuses the object; another one names the line of the template.
func (t *Text) Execute(data map[string]any) (string, error) { return t.execute(t.tmpl, data) }

// ExecuteSet renders a text. The error is an *UnsetError if the text prints an unset value.
func (t *Text) ExecuteSet(data map[string]any) (string, error) { return t.execute(t.strict, data) }

func (t *Text) execute(tmpl *template.Template, data map[string]any) (string, error) {
	if t.literal {
		return t.source, nil
	}
	var out boundedBuffer
	if err := tmpl.Execute(&out, data); err != nil {
		if unset, ok := errors.AsType[*UnsetError](err); ok {
			return "", unset
		}
		if refusal, ok := errors.AsType[*RefusedError](err); ok {
			return "", refusal
		}
		return "", syntaxProblem(tmpl.Name(), err)
	}
	return out.text.String(), nil
}

// maxText is the maximum size of a rendered text: no ConfigMap, Secret or template is larger. See
// https://kubernetes.io/docs/concepts/configuration/configmap/ and
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html.
const maxText = 1 << 20

var errTooLong = errors.New("the text is longer than 1 MiB")

// boundedBuffer is a buffer for at most maxText bytes.
type boundedBuffer struct{ text bytes.Buffer }

// Write appends to the buffer.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > maxText {
		return 0, errTooLong
	}
	return b.text.Write(p)
}

// eachNode calls the functions, which may be nil, for every text and every action below a node that
// prints a value.
func eachNode(node parse.Node, text func(*parse.TextNode), action func(*parse.ActionNode)) {
	eachLeaf(node, func(leaf parse.Node) {
		switch n := leaf.(type) {
		case *parse.TextNode:
			if text != nil {
				text(n)
			}
		case *parse.ActionNode:
			if len(n.Pipe.Decl) == 0 {
				action(n)
			}
		}
	})
}

// eachLeaf calls visit for every node below a node that has no nodes below it.
func eachLeaf(node parse.Node, visit func(parse.Node)) {
	branch := func(b *parse.BranchNode) {
		eachLeaf(b.List, visit)
		eachLeaf(b.ElseList, visit)
	}
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, child := range n.Nodes {
			eachLeaf(child, visit)
		}
	case *parse.IfNode:
		branch(&n.BranchNode)
	case *parse.RangeNode:
		branch(&n.BranchNode)
	case *parse.WithNode:
		branch(&n.BranchNode)
	default:
		visit(n)
	}
}

// printBy pipes the value that an action prints through a function, after an argument.
func printBy(n *parse.ActionNode, function, argument string) {
	n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{
		parse.NewIdentifier(function).SetPos(n.Pos),
		&parse.StringNode{NodeType: parse.NodeString, Pos: n.Pos, Quoted: strconv.Quote(argument), Text: argument},
	}})
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
		"condition":  condition,
		"contains":   func(part, s string) bool { return strings.Contains(s, part) },
		"default":    defaultTo,
		"get":        get,
		"hasPrefix":  func(prefix string, s any) bool { return strings.HasPrefix(asText(s), prefix) },
		"hasSuffix":  func(suffix string, s any) bool { return strings.HasSuffix(asText(s), suffix) },
		"join":       join,
		"named":      named,
		"lower":      ofText(strings.ToLower),
		"printf":     printf,
		"printText":  func(_ string, value any) string { return asText(value) },
		"printYAML":  printYAML,
		"principal":  principal,
		"properties": properties,
		"positive":   positive,
		"quoteYAML":  quoteYAML,
		"refuse":     refuse,
		"replace":    replace,
		"set":        func(v any) bool { return v != nil && v != "" },
		"split":      split,
		"text":       asText,
		"trimSuffix": func(suffix string, s any) any {
			return ofText(func(s string) string { return strings.TrimSuffix(s, suffix) })(s)
		},
		"upper": ofText(strings.ToUpper),
	}
}

// ofText makes a template function of a function of text. The result of an unset value is unset.
func ofText(function func(string) string) func(any) any {
	return func(value any) any {
		if value == nil {
			return nil
		}
		return function(asText(value))
	}
}

// replace replaces every occurrence of from in a value's text. The result of an unset value is unset.
func replace(from, to string, value any) (any, error) {
	text := asText(value)
	if len(text)+strings.Count(text, from)*(len(to)-len(from)) > maxText {
		return nil, errTooLong
	}
	return ofText(func(s string) string { return strings.ReplaceAll(s, from, to) })(value), nil
}

// printf formats as fmt.Sprintf does. The result is unset if one of the values is unset.
func printf(format string, values ...any) any {
	if slices.Contains(values, nil) {
		return nil
	}
	return fmt.Sprintf(format, values...)
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

// join concatenates the elements of a list. The result of an unset value is unset.
func join(separator string, list any) any {
	items, ok := list.([]any)
	if list == nil {
		return nil
	}
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
	case free:
		return string(v)
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
	// The reason is the last part of "executing "name" at <printYAML>: error calling printYAML: why".
	if _, why, ok := strings.Cut(message, "error calling printYAML: "); ok {
		message = why
	}
	message = strings.TrimPrefix(message, fmt.Sprintf("executing %q at ", name))
	problem := cfntemplate.Problem{Pos: position, Message: message}
	if _, after, ok := strings.Cut(message, `function "`); ok {
		unknown, _, _ := strings.Cut(after, `"`)
		problem.Suggestion = nearest(unknown, slices.Sorted(maps.Keys(functions(nil))))
	}
	return cfntemplate.Problems{problem}
}
