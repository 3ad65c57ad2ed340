package diff

import (
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// resolver replaces intrinsics by what is known of one side: parameters, mappings, conditions and
// what can be computed from these. What only AWS knows stays an intrinsic.
type resolver struct {
	t *template.Template
	// values of the parameters, with secrets hidden.
	values map[string]string
	// conditions that are evaluated already.
	conditions map[string]truth
}

func newResolver(t *template.Template, values map[string]string) *resolver {
	return &resolver{t: t, values: values, conditions: map[string]truth{}}
}

// node returns n with everything known resolved, nil for AWS::NoValue.
func (r *resolver) node(n *template.Node) *template.Node {
	if n == nil || n.IsNoValue() {
		return nil
	}
	switch n.Kind {
	case template.List:
		return r.list(n)
	case template.Map:
		resolved := &template.Node{Kind: template.Map, Pos: n.Pos, Fields: make([]template.Field, 0, len(n.Fields))}
		for _, field := range n.Fields {
			if value := r.node(field.Value); value != nil {
				resolved.Fields = append(resolved.Fields, template.Field{Key: field.Key, KeyPos: field.KeyPos, Value: value})
			}
		}
		return resolved
	case template.Intrinsic:
		return r.call(n)
	default:
		return n
	}
}

func (r *resolver) list(n *template.Node) *template.Node {
	resolved := &template.Node{Kind: template.List, Pos: n.Pos, Items: make([]*template.Node, 0, len(n.Items))}
	for _, item := range n.Items {
		if value := r.node(item); value != nil {
			resolved.Items = append(resolved.Items, value)
		}
	}
	return resolved
}

func (r *resolver) call(n *template.Node) *template.Node {
	if n.Func == "Fn::GetAtt" || n.Arg == nil {
		return n
	}
	switch n.Func {
	case "Ref":
		if value, ok := r.parameter(n.Arg.Text); ok {
			return value
		}
		return n
	case "Fn::If":
		return r.choose(n)
	case "Fn::Sub":
		return r.sub(n)
	}
	arg := r.node(n.Arg)
	if arg == nil {
		arg = n.Arg
	}
	if value := r.compute(n.Func, arg); value != nil {
		return value
	}
	return &template.Node{Kind: template.Intrinsic, Pos: n.Pos, Func: n.Func, Arg: arg}
}

// parameter returns the result of a Ref to a parameter.
func (r *resolver) parameter(name string) (*template.Node, bool) {
	parameter := r.t.Parameters[name]
	value, ok := r.values[name]
	if parameter == nil || !ok {
		return nil, false
	}
	if !parameter.IsList() || parameter.IsSSM() {
		return template.NewString(value), true
	}
	list := template.NewList()
	if value != "" {
		for one := range strings.SplitSeq(value, ",") {
			list.Items = append(list.Items, template.NewString(strings.TrimSpace(one)))
		}
	}
	return list, true
}

func (r *resolver) choose(n *template.Node) *template.Node {
	if n.Arg.Kind != template.List || len(n.Arg.Items) != 3 {
		return n
	}
	switch r.condition(n.Arg.Items[0].Text) {
	case yes:
		return r.node(n.Arg.Items[1])
	case no:
		return r.node(n.Arg.Items[2])
	default:
		branches := []*template.Node{n.Arg.Items[0]}
		for _, branch := range n.Arg.Items[1:] {
			resolved := r.node(branch)
			if resolved == nil {
				resolved = template.NewRef("AWS::NoValue")
			}
			branches = append(branches, resolved)
		}
		return &template.Node{Kind: template.Intrinsic, Pos: n.Pos, Func: n.Func, Arg: template.NewList(branches...)}
	}
}

// compute returns the result of a function of literals, nil if it cannot be computed.
func (r *resolver) compute(function string, arg *template.Node) *template.Node {
	if arg.Kind != template.List {
		return nil
	}
	switch {
	case function == "Fn::FindInMap" && len(arg.Items) >= 3:
		return r.findInMap(arg.Items)
	case function == "Fn::Join" && len(arg.Items) == 2:
		return joined(arg.Items[0], arg.Items[1])
	case function == "Fn::Split" && len(arg.Items) == 2:
		delimiter, ok1 := arg.Items[0].Scalar()
		text, ok2 := arg.Items[1].Scalar()
		if !ok1 || !ok2 || delimiter == "" {
			return nil
		}
		return template.FromInterface(strings.Split(text, delimiter))
	case function == "Fn::Select" && len(arg.Items) == 2:
		text, _ := arg.Items[0].Scalar()
		index, err := strconv.Atoi(text)
		if err != nil || arg.Items[1].Kind != template.List || index < 0 || index >= len(arg.Items[1].Items) {
			return nil
		}
		return arg.Items[1].Items[index]
	default:
		return nil
	}
}

func (r *resolver) findInMap(keys []*template.Node) *template.Node {
	level := r.t.Mappings
	for _, key := range keys[:3] {
		name, ok := key.Scalar()
		if !ok {
			return nil
		}
		level = level.Get(name)
	}
	return level
}

func joined(delimiter, list *template.Node) *template.Node {
	between, ok := delimiter.Scalar()
	if !ok || list.Kind != template.List {
		return nil
	}
	parts := make([]string, len(list.Items))
	for i, item := range list.Items {
		if parts[i], ok = item.Scalar(); !ok {
			return nil
		}
	}
	return template.NewString(strings.Join(parts, between))
}

// sub replaces known variables in a Fn::Sub's text. The rest is normalized, so that equal texts
// compare equal however they were written.
func (r *resolver) sub(n *template.Node) *template.Node {
	text, variables := n.SubArguments()
	if text == nil {
		return n
	}
	var out strings.Builder
	left := &template.Node{Kind: template.Map}
	literal := true
	for _, part := range template.ParseSub(text.Text) {
		if part.Variable == "" {
			out.WriteString(escapeSub(part.Literal))
			continue
		}
		value := r.variable(part.Variable, variables)
		if known, ok := value.Scalar(); ok {
			out.WriteString(escapeSub(known))
			continue
		}
		literal = false
		out.WriteString("${" + part.Variable + "}")
		if value != nil && left.Get(part.Variable) == nil {
			left.Fields = append(left.Fields, template.Field{Key: part.Variable, Value: value})
		}
	}
	if literal {
		var plain strings.Builder
		for _, part := range template.ParseSub(out.String()) {
			plain.WriteString(part.Literal)
		}
		return template.NewString(plain.String())
	}
	arg := template.NewString(out.String())
	if len(left.Fields) > 0 {
		arg = template.NewList(arg, left)
	}
	return &template.Node{Kind: template.Intrinsic, Pos: n.Pos, Func: n.Func, Arg: arg}
}

// variable returns the value of a variable of Fn::Sub, nil if only AWS knows it and the text itself
// names it.
func (r *resolver) variable(name string, variables *template.Node) *template.Node {
	if own := variables.Get(name); own != nil {
		return r.node(own)
	}
	value, _ := r.parameter(name)
	return value
}

func escapeSub(text string) string {
	parts := strings.Split(text, "${")
	for i := 1; i < len(parts); i++ {
		if strings.Contains(parts[i], "}") {
			parts[i] = "!" + parts[i]
		}
	}
	return strings.Join(parts, "${")
}
