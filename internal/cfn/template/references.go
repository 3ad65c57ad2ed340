package template

import (
	"maps"
	"slices"
	"strings"
)

// Reference is a use of a parameter, a resource or a pseudo parameter: a Ref, a Fn::GetAtt or a
// variable of a Fn::Sub.
type Reference struct {
	// Target is the referenced name.
	Target string
	// Attribute is the attribute of Fn::GetAtt, empty for a Ref.
	Attribute string
	// Pos is the position of the reference.
	Pos Position
}

// References returns the references in n and below, in order of appearance.
func (n *Node) References() []Reference {
	var found []Reference
	n.Walk(func(node *Node) bool {
		found = append(found, node.ownReferences()...)
		return true
	})
	return found
}

// Walk calls visit for n and everything below, parents first. It does not descend where visit
// returns false.
func (n *Node) Walk(visit func(*Node) bool) {
	if n == nil || !visit(n) {
		return
	}
	for _, item := range n.Items {
		item.Walk(visit)
	}
	for i := range n.Fields {
		n.Fields[i].Value.Walk(visit)
	}
	n.Arg.Walk(visit)
}

// ownReferences returns the references of n itself.
func (n *Node) ownReferences() []Reference {
	if n.Kind != Intrinsic || n.Arg == nil {
		return nil
	}
	switch n.Func {
	case "Ref":
		if n.Arg.Kind == String {
			return []Reference{{Target: n.Arg.Text, Pos: n.Pos}}
		}
	case "Fn::GetAtt":
		if n.Arg.Kind == List && len(n.Arg.Items) == 2 && n.Arg.Items[0].Kind == String {
			attribute, _ := n.Arg.Items[1].Scalar()
			return []Reference{{Target: n.Arg.Items[0].Text, Attribute: attribute, Pos: n.Pos}}
		}
	case "Fn::Sub":
		return n.subReferences()
	}
	return nil
}

func (n *Node) subReferences() []Reference {
	text, variables := n.SubArguments()
	if text == nil {
		return nil
	}
	var found []Reference
	for _, part := range ParseSub(text.Text) {
		if variables.Get(part.Variable) != nil || part.Variable == "" || strings.IndexFunc(part.Variable, notInVariable) >= 0 {
			continue
		}
		target, attribute, _ := strings.Cut(part.Variable, ".")
		found = append(found, Reference{Target: target, Attribute: attribute, Pos: text.Pos})
	}
	return found
}

// SubArguments returns the text of a Fn::Sub, nil if n is not one, and the map of its own
// variables, nil if it has none.
func (n *Node) SubArguments() (text, variables *Node) {
	if n == nil || n.Kind != Intrinsic || n.Func != "Fn::Sub" || n.Arg == nil {
		return nil, nil
	}
	switch {
	case n.Arg.Kind == String:
		return n.Arg, nil
	case n.Arg.Kind == List && len(n.Arg.Items) == 2 && n.Arg.Items[0].Kind == String:
		return n.Arg.Items[0], n.Arg.Items[1]
	default:
		return nil, nil
	}
}

// SubPart is one part of a Fn::Sub's text: either literal text or a variable.
type SubPart struct {
	// Literal is literal text.
	Literal string
	// Variable is the name within ${}, empty for literal text.
	Variable string
}

// ParseSub splits a Fn::Sub's text into literal text and variables. ${!Name} is the literal
// ${Name}; an unterminated ${ is literal too.
func ParseSub(text string) []SubPart {
	var parts []SubPart
	var literal strings.Builder
	for text != "" {
		before, after, found := strings.Cut(text, "${")
		literal.WriteString(before)
		if !found {
			break
		}
		name, rest, closed := strings.Cut(after, "}")
		switch {
		case !closed:
			literal.WriteString("${")
			text = after
			continue
		case strings.HasPrefix(name, "!"):
			literal.WriteString("${" + name[1:] + "}")
		case strings.TrimSpace(name) == "":
			literal.WriteString("${" + name + "}")
		default:
			if literal.Len() > 0 {
				parts = append(parts, SubPart{Literal: literal.String()})
				literal.Reset()
			}
			parts = append(parts, SubPart{Variable: strings.TrimSpace(name)})
		}
		text = rest
	}
	if literal.Len() > 0 {
		parts = append(parts, SubPart{Literal: literal.String()})
	}
	return parts
}

// Dependencies returns, for every resource, the sorted logical IDs of the resources that it depends
// on by Ref, Fn::GetAtt, Fn::Sub and DependsOn.
func (t *Template) Dependencies() map[string][]string {
	needs := make(map[string][]string, len(t.Resources))
	for id, resource := range t.Resources {
		set := map[string]bool{}
		for _, name := range resource.DependsOn {
			set[name] = t.Resources[name] != nil
		}
		for _, ref := range resource.References() {
			if t.Resources[ref.Target] != nil {
				set[ref.Target] = true
			}
		}
		maps.DeleteFunc(set, func(_ string, exists bool) bool { return !exists })
		needs[id] = slices.Sorted(maps.Keys(set))
	}
	return needs
}

// References returns the references in a resource's properties, policies and metadata.
func (r *Resource) References() []Reference {
	var found []Reference
	for _, part := range []*Node{r.Properties, r.CreationPolicy, r.UpdatePolicy, r.Metadata} {
		found = append(found, part.References()...)
	}
	return found
}
