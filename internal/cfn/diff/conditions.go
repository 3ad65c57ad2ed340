package diff

import "github.com/aws-operator/aws-operator/internal/cfn/template"

// truth is the value of a condition, as far as known.
type truth int

const (
	unknown truth = iota
	yes
	no
	// evaluating marks a condition that depends on itself.
	evaluating
)

// condition evaluates a condition by name.
func (r *resolver) condition(name string) truth {
	if known, ok := r.conditions[name]; ok {
		return known
	}
	r.conditions[name] = evaluating
	value := r.evaluate(r.t.Conditions[name])
	r.conditions[name] = value
	return value
}

func (r *resolver) evaluate(n *template.Node) truth {
	if n == nil {
		return unknown
	}
	if n.Kind == template.Bool {
		return truthOf(n.Bool)
	}
	if n.Kind != template.Intrinsic || n.Arg == nil {
		return unknown
	}
	switch n.Func {
	case "Condition":
		if known := r.condition(n.Arg.Text); known != evaluating {
			return known
		}
		return unknown
	case "Fn::Equals":
		return r.equals(n.Arg.Items)
	case "Fn::Not":
		return r.all(n.Arg.Items, yes, no)
	case "Fn::And":
		return r.all(n.Arg.Items, no, yes)
	case "Fn::Or":
		if value := r.all(n.Arg.Items, yes, no); value != unknown {
			return negate(value)
		}
	}
	return unknown
}

func truthOf(value bool) truth {
	if value {
		return yes
	}
	return no
}

func negate(value truth) truth {
	switch value {
	case yes:
		return no
	case no:
		return yes
	default:
		return value
	}
}

// all is no if one condition has the value decisive, yes if all have the other value, and unknown
// otherwise.
func (r *resolver) all(conditions []*template.Node, decisive, other truth) truth {
	result := yes
	for _, condition := range conditions {
		switch r.evaluate(condition) {
		case decisive:
			return no
		case other:
		default:
			result = unknown
		}
	}
	return result
}

func (r *resolver) equals(sides []*template.Node) truth {
	if len(sides) != 2 {
		return unknown
	}
	left, right := r.node(sides[0]), r.node(sides[1])
	if left == nil || right == nil {
		return unknown
	}
	a, okA := left.Scalar()
	b, okB := right.Scalar()
	switch {
	case okA && okB:
		return truthOf(a == b)
	case template.Equal(left, right):
		return yes
	case left.Kind == template.List && right.Kind == template.List && !computed(left) && !computed(right):
		return no
	default:
		return unknown
	}
}

// computed reports whether n contains something that only AWS knows.
func computed(n *template.Node) bool {
	found := false
	n.Walk(func(one *template.Node) bool {
		found = found || one.Kind == template.Intrinsic
		return !found
	})
	return found
}
