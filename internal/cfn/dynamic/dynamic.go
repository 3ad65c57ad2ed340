// Package dynamic finds CloudFormation's dynamic references, such as
// {{resolve:secretsmanager:name}}, in values and templates of untrusted authors. CloudFormation
// replaces them with what it reads from Secrets Manager and Systems Manager with the permissions of
// the stack's creator, so that such an author could read every secret that the operator may read.
// The package is pure and never changes its input.
//
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references.html
package dynamic

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// opening begins a dynamic reference. CloudFormation also resolves a reference that Fn::Join or
// Fn::Sub composes.
const opening = "{{resolve:"

// In reports whether a text contains a dynamic reference.
func In(text string) bool { return strings.Contains(strings.ToLower(text), opening) }

// Fragment reports whether a text contains a dynamic reference or a part of one: an incomplete
// reference at its end, which another text could complete, or a reference without its first brace.
func Fragment(text string) bool {
	text = strings.ToLower(text)
	if strings.Contains(text, opening[1:]) {
		return true
	}
	for length := 1; length < len(opening); length++ {
		if strings.HasSuffix(text, opening[:length]) {
			return true
		}
	}
	return false
}

// Finding is one value that is not allowed.
type Finding struct {
	// Field is its path, such as spec.tags[0].value.
	Field string
	// Function is the key that calls a function of CloudFormation, empty for a dynamic reference.
	Function string
}

// Values finds, sorted by field, what a plain value of an untrusted author must not contain below
// field: dynamic references and parts of them, in values and keys, and keys that call a function of
// CloudFormation, which could compose a reference. The allowed fields may contain dynamic
// references.
func Values(field string, value any, allowed []string) []Finding {
	if slices.Contains(allowed, field) {
		return nil
	}
	switch v := value.(type) {
	case string:
		if Fragment(v) {
			return []Finding{{Field: field}}
		}
	case []any:
		var found []Finding
		for i, item := range v {
			found = append(found, Values(field+"["+strconv.Itoa(i)+"]", item, allowed)...)
		}
		return found
	case map[string]any:
		var found []Finding
		for _, key := range slices.Sorted(maps.Keys(v)) {
			below := field + "." + key
			switch {
			case Fragment(key):
				found = append(found, Finding{Field: below})
			case strings.HasPrefix(key, "Fn::"):
				found = append(found, Finding{Field: below, Function: key})
			default:
				found = append(found, Values(below, v[key], allowed)...)
			}
		}
		return found
	}
	return nil
}

// Complete finds the dynamic references in a template whose parts the author could not choose: in a
// text, in a key, in the literal text of Fn::Sub, and in what Fn::Join makes of plain texts.
func Complete(t *template.Template) template.Problems {
	return find(t, In, false)
}

// Pieces finds the dynamic references, and parts of them, in a template of an untrusted author. It
// also refuses braces in the arguments of Fn::Split, which could remove characters that hide a
// reference.
func Pieces(t *template.Template) template.Problems {
	return find(t, Fragment, true)
}

func find(t *template.Template, bad func(string) bool, strict bool) template.Problems {
	var problems template.Problems
	report := func(n *template.Node, what string) {
		problems = append(problems, template.Problem{Pos: n.Pos, Message: what})
	}
	const reference = "a dynamic reference ({{resolve:…}}), or a part of one, is not allowed here, because it reads secrets with the operator's permissions"
	t.Node().Walk(func(n *template.Node) bool {
		switch n.Kind {
		case template.String:
			if bad(n.Text) {
				report(n, reference)
			}
		case template.Map:
			for _, field := range n.Fields {
				if bad(field.Key) {
					report(n, reference)
				}
			}
		case template.Intrinsic:
			switch {
			case n.Func == "Fn::Sub" && badSub(n, bad), n.Func == "Fn::Join" && !strict && bad(joined(n)):
				report(n, reference)
			case n.Func == "Fn::Split" && strict && hasBrace(n.Arg):
				report(n, "Fn::Split of a text with a brace is not allowed here, because it could create a dynamic reference")
			}
		case template.Null, template.Bool, template.Number, template.List:
		}
		return true
	})
	return problems
}

// badSub checks the text of Fn::Sub without its variables, since a variable may be empty, and each
// part of the text.
func badSub(n *template.Node, bad func(string) bool) bool {
	text, _ := n.SubArguments()
	if text == nil || text.Kind != template.String {
		return false
	}
	var whole strings.Builder
	for _, part := range template.ParseSub(text.Text) {
		if part.Variable != "" {
			continue
		}
		if bad(part.Literal) {
			return true
		}
		whole.WriteString(part.Literal)
	}
	return bad(whole.String())
}

// joined is the result of Fn::Join for the plain texts among its parts.
func joined(n *template.Node) string {
	if n.Arg == nil || len(n.Arg.Items) != 2 {
		return ""
	}
	delimiter, _ := n.Arg.Items[0].Scalar()
	var parts []string
	for _, item := range n.Arg.Items[1].Items {
		text, _ := item.Scalar()
		parts = append(parts, text)
	}
	return strings.Join(parts, delimiter)
}

func hasBrace(n *template.Node) bool {
	found := false
	n.Walk(func(n *template.Node) bool {
		found = found || n.Kind == template.String && strings.Contains(n.Text, "{")
		return !found
	})
	return found
}
