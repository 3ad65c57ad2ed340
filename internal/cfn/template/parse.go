package template

import (
	"bytes"
	"cmp"
	"slices"
)

// maxDepth limits the nesting of a template, so that hostile input cannot exhaust the stack.
const maxDepth = 200

// Parse parses a template in YAML or JSON, with intrinsics in either form. file is only a name for
// messages. The error is of type [Problems] and contains every problem of form: invalid syntax,
// duplicate keys, unknown sections and attributes, sections of the wrong type. [Template.Check]
// checks references.
func Parse(file string, data []byte) (*Template, error) {
	p := &parser{file: file}
	root := p.root(data)
	if len(p.problems) > 0 {
		return nil, p.sorted()
	}
	t := p.template(root)
	if len(p.problems) > 0 {
		return nil, p.sorted()
	}
	return t, nil
}

// ParseNode parses one value, such as a section or a property of a template.
func ParseNode(file string, data []byte) (*Node, error) {
	p := &parser{file: file}
	root := p.root(data)
	if len(p.problems) > 0 {
		return nil, p.sorted()
	}
	return root, nil
}

// parser collects problems while it converts text to nodes and nodes to a template.
type parser struct {
	file     string
	problems Problems
}

func (p *parser) problem(pos Position, path, message, suggestion string) {
	p.problems = append(p.problems, Problem{Pos: pos, Path: path, Message: message, Suggestion: suggestion})
}

func (p *parser) sorted() Problems {
	SortProblems(p.problems)
	return p.problems
}

// SortProblems sorts problems by position.
func SortProblems(problems Problems) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message))
	})
}

// root converts text to nodes. Text that begins with a brace is JSON, or else YAML that begins with
// a flow mapping.
func (p *parser) root(data []byte) *Node {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	if len(trimmed) == 0 {
		p.problem(Position{File: p.file, Line: 1, Column: 1}, "", "the template is empty", "")
		return nil
	}
	if trimmed[0] != '{' && trimmed[0] != '[' {
		return p.yamlRoot(data)
	}
	fromJSON := &parser{file: p.file}
	root, wellFormed := fromJSON.jsonRoot(data)
	if !wellFormed {
		fromYAML := &parser{file: p.file}
		if root := fromYAML.yamlRoot(data); len(fromYAML.problems) == 0 {
			return root
		}
	}
	p.problems = fromJSON.problems
	return root
}

// finishMap converts a map that represents an intrinsic.
func (p *parser) finishMap(node *Node, amongConditions bool) *Node {
	call := asIntrinsic(node, amongConditions)
	if call == nil {
		return node
	}
	p.checkGetAtt(call)
	return call
}

func (p *parser) checkGetAtt(call *Node) {
	if call.Func != "Fn::GetAtt" || call.Arg.Kind == List && len(call.Arg.Items) == 2 {
		return
	}
	p.problem(call.Pos, "", "Fn::GetAtt needs a resource and an attribute, as in "+intrinsicByName[call.Func].usage, "")
}

// addField appends a member to a map unless the key exists.
func (p *parser) addField(node *Node, seen map[string]Position, field Field) {
	if first, duplicate := seen[field.Key]; duplicate {
		p.problem(field.KeyPos, "", "duplicate key "+field.Key+", first given at "+first.String(), "")
		return
	}
	seen[field.Key] = field.KeyPos
	node.Fields = append(node.Fields, field)
}
