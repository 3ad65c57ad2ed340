package template

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Interface returns the node as plain Go values: map[string]any, []any,
// string, bool, json.Number and nil. An intrinsic is a map of one key, its
// long name.
func (n *Node) Interface() any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case Bool:
		return n.Bool
	case Number:
		return json.Number(n.Text)
	case String:
		return n.Text
	case List:
		items := make([]any, len(n.Items))
		for i, item := range n.Items {
			items[i] = item.Interface()
		}
		return items
	case Map:
		fields := make(map[string]any, len(n.Fields))
		for _, field := range n.Fields {
			fields[field.Key] = field.Value.Interface()
		}
		return fields
	case Intrinsic:
		return map[string]any{n.Func: n.Arg.Interface()}
	default:
		return nil
	}
}

// FromInterface returns the node of plain Go values as [Node.Interface] and
// encoding/json make them; map keys are sorted. A map whose only key names an
// intrinsic becomes that intrinsic. Values of other types become their text.
func FromInterface(v any) *Node { return fromInterface(v, false) }

func fromInterface(v any, amongConditions bool) *Node {
	switch v := v.(type) {
	case nil:
		return &Node{Kind: Null}
	case *Node:
		return v
	case bool:
		return NewBool(v)
	case string:
		return NewString(v)
	case json.Number:
		return NewNumber(v.String())
	case int:
		return NewNumber(strconv.Itoa(v))
	case int32:
		return NewNumber(strconv.FormatInt(int64(v), 10))
	case int64:
		return NewNumber(strconv.FormatInt(v, 10))
	case float64:
		return NewNumber(strconv.FormatFloat(v, 'f', -1, 64))
	case []any:
		items := make([]*Node, len(v))
		for i, item := range v {
			items[i] = fromInterface(item, amongConditions)
		}
		return NewList(items...)
	case []string:
		items := make([]*Node, len(v))
		for i, item := range v {
			items[i] = NewString(item)
		}
		return NewList(items...)
	case map[string]string:
		node := &Node{Kind: Map}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			node.Fields = append(node.Fields, Field{Key: key, Value: NewString(v[key])})
		}
		return node
	case map[string]any:
		return mapFromInterface(v, amongConditions)
	default:
		return NewString(fmt.Sprint(v))
	}
}

func mapFromInterface(v map[string]any, amongConditions bool) *Node {
	node := &Node{Kind: Map}
	for _, key := range slices.Sorted(maps.Keys(v)) {
		below := amongConditions || takesConditions(key)
		node.Fields = append(node.Fields, Field{Key: key, Value: fromInterface(v[key], below)})
	}
	if call := asIntrinsic(node, amongConditions); call != nil {
		return call
	}
	return node
}

// asIntrinsic returns the call that a map of one key stands for, nil if it
// stands for none.
func asIntrinsic(node *Node, amongConditions bool) *Node {
	if len(node.Fields) != 1 {
		return nil
	}
	field := node.Fields[0]
	if intrinsicByName[field.Key] == nil {
		return nil
	}
	arg := field.Value
	switch field.Key {
	case "Condition":
		// Many a property and every IAM statement has a member of this name.
		if !amongConditions || arg.Kind != String {
			return nil
		}
	case "Fn::GetAtt":
		if pair := getAttArgument(arg); pair != nil {
			arg = pair
		}
	}
	return &Node{Kind: Intrinsic, Pos: node.Pos, Func: field.Key, Arg: arg}
}

// Equal reports whether two nodes mean the same, whatever their positions and
// the order of their fields. A nil node equals only nil.
func Equal(a, b *Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case Bool:
		return a.Bool == b.Bool
	case Number, String:
		return a.Text == b.Text
	case List:
		return slices.EqualFunc(a.Items, b.Items, Equal)
	case Map:
		return equalFields(a, b)
	case Intrinsic:
		return a.Func == b.Func && Equal(a.Arg, b.Arg)
	default:
		return true
	}
}

func equalFields(a, b *Node) bool {
	if len(a.Fields) != len(b.Fields) {
		return false
	}
	for i, field := range a.Fields {
		other := b.Fields[i].Value
		if b.Fields[i].Key != field.Key {
			other = b.Get(field.Key)
		}
		if other == nil || !Equal(field.Value, other) {
			return false
		}
	}
	return true
}

// Clone returns a deep copy.
func (n *Node) Clone() *Node {
	if n == nil {
		return nil
	}
	c := *n
	c.Arg = n.Arg.Clone()
	if n.Items != nil {
		c.Items = make([]*Node, len(n.Items))
		for i, item := range n.Items {
			c.Items[i] = item.Clone()
		}
	}
	if n.Fields != nil {
		c.Fields = make([]Field, len(n.Fields))
		for i, field := range n.Fields {
			c.Fields[i] = Field{Key: field.Key, KeyPos: field.KeyPos, Value: field.Value.Clone()}
		}
	}
	return &c
}

// jsonNumber reports whether text is a number as JSON writes them.
func jsonNumber(text string) bool {
	text = strings.TrimPrefix(text, "-")
	whole, rest := leadingDigits(text)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	if strings.HasPrefix(rest, ".") {
		var fraction string
		if fraction, rest = leadingDigits(rest[1:]); fraction == "" {
			return false
		}
	}
	if rest == "" {
		return true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return false
	}
	rest = rest[1:]
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	exponent, rest := leadingDigits(rest)
	return exponent != "" && rest == ""
}

func leadingDigits(text string) (digits, rest string) {
	i := 0
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return text[:i], text[i:]
}
