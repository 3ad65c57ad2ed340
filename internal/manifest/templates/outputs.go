package templates

import (
	"fmt"
	"reflect"
	"text/template"
	"text/template/parse"
)

// outputValue is the field of an output of Terraform that holds its value.
const outputValue = "value"

// valueFunction is what `.x.value` calls in place of looking up a field.
const valueFunction = "terraformOutputValue"

// readOutputs lets templates write .x.value for an output x, wherever that is: each access of a
// field called value becomes a call, since a text has no fields.
func readOutputs(t *template.Template) {
	for _, one := range t.Templates() {
		if one.Tree != nil {
			(&rewriter{tree: one.Tree}).list(one.Root)
		}
	}
}

// valueOf returns the function behind an access of a field called value: what is no map, and a map
// that is an output itself, is its own value.
func valueOf(outputs map[uintptr]bool, failOnMissing bool) func(any) (any, error) {
	return func(receiver any) (any, error) {
		m, ok := receiver.(map[string]any)
		if !ok || outputs[reflect.ValueOf(m).Pointer()] {
			return receiver, nil
		}
		value, ok := m[outputValue]
		if !ok && failOnMissing {
			return nil, fmt.Errorf("map has no entry for key %q", outputValue)
		}
		return value, nil
	}
}

// rewriter puts calls of valueFunction into a template.
type rewriter struct{ tree *parse.Tree }

func (r *rewriter) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			r.pipe(n.Pipe)
		case *parse.IfNode:
			r.branch(&n.BranchNode)
		case *parse.RangeNode:
			r.branch(&n.BranchNode)
		case *parse.WithNode:
			r.branch(&n.BranchNode)
		case *parse.TemplateNode:
			r.pipe(n.Pipe)
		}
	}
}

func (r *rewriter) branch(b *parse.BranchNode) {
	r.pipe(b.Pipe)
	r.list(b.List)
	r.list(b.ElseList)
}

func (r *rewriter) pipe(p *parse.PipeNode) {
	if p == nil {
		return
	}
	for _, command := range p.Cmds {
		for i, arg := range command.Args {
			command.Args[i] = r.argument(arg)
		}
	}
}

// argument returns a node with calls for its fields called value.
func (r *rewriter) argument(n parse.Node) parse.Node {
	switch n := n.(type) {
	case *parse.PipeNode:
		r.pipe(n)
	case *parse.FieldNode:
		return r.fields(n, nil, n.Ident)
	case *parse.VariableNode:
		return r.fields(n, &parse.VariableNode{NodeType: parse.NodeVariable, Pos: n.Pos, Ident: n.Ident[:1]}, n.Ident[1:])
	case *parse.ChainNode:
		return r.fields(n, r.argument(n.Node), n.Field)
	}
	return n
}

// fields returns the node for fields of a receiver, nil being dot. Without one called value it is
// the node itself.
func (r *rewriter) fields(whole, receiver parse.Node, names []string) parse.Node {
	pos := whole.Position()
	start, found := 0, false
	for i, name := range names {
		if name != outputValue {
			continue
		}
		receiver, found = r.call(r.access(pos, receiver, names[start:i])), true
		start = i + 1
	}
	if !found {
		return whole
	}
	return r.access(pos, receiver, names[start:])
}

// access returns the node for fields of a receiver.
func (r *rewriter) access(pos parse.Pos, receiver parse.Node, names []string) parse.Node {
	switch {
	case len(names) == 0 && receiver == nil:
		return &parse.DotNode{NodeType: parse.NodeDot, Pos: pos}
	case len(names) == 0:
		return receiver
	case receiver == nil:
		return &parse.FieldNode{NodeType: parse.NodeField, Pos: pos, Ident: names}
	}
	if v, ok := receiver.(*parse.VariableNode); ok {
		return &parse.VariableNode{NodeType: parse.NodeVariable, Pos: pos, Ident: append(v.Ident[:1:1], names...)}
	}
	return &parse.ChainNode{NodeType: parse.NodeChain, Pos: pos, Node: receiver, Field: names}
}

// call returns (terraformOutputValue RECEIVER).
func (r *rewriter) call(receiver parse.Node) parse.Node {
	pos := receiver.Position()
	function := parse.NewIdentifier(valueFunction).SetPos(pos).SetTree(r.tree)
	command := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: []parse.Node{function, receiver}}
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos, Cmds: []*parse.CommandNode{command}}
}
