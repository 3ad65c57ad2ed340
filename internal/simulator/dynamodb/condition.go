package dynamodb

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// condition is a parsed condition, filter or key condition.
type condition interface {
	holds(in attributes) bool
}

// operand is an operand of a condition. Its value is nil for an item that lacks it.
type operand interface {
	of(in attributes) types.AttributeValue
}

type (
	literal struct{ value types.AttributeValue }
	sized   struct{ path path }
)

func (o path) of(in attributes) types.AttributeValue  { return o.find(in) }
func (o literal) of(attributes) types.AttributeValue  { return o.value }
func (o sized) of(in attributes) types.AttributeValue { return sizeFunction(o.path.find(in)) }

// sizeFunction is size(path):
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html#Expressions.OperatorsAndFunctions.Functions
func sizeFunction(v types.AttributeValue) types.AttributeValue {
	var n int
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		n = len(v.Value)
	case *types.AttributeValueMemberB:
		n = len(v.Value)
	case *types.AttributeValueMemberM:
		n = len(v.Value)
	case *types.AttributeValueMemberL:
		n = len(v.Value)
	case *types.AttributeValueMemberSS, *types.AttributeValueMemberNS, *types.AttributeValueMemberBS:
		n = len(members(v))
	default:
		return nil
	}
	return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
}

type (
	allOf   struct{ left, right condition }
	anyOf   struct{ left, right condition }
	negated struct{ inner condition }
	compare struct {
		op          string
		left, right operand
	}
	between struct{ what, low, high operand }
	oneOf   struct {
		what operand
		of   []operand
	}
	call struct {
		function string
		args     []operand
	}
)

func (c allOf) holds(in attributes) bool   { return c.left.holds(in) && c.right.holds(in) }
func (c anyOf) holds(in attributes) bool   { return c.left.holds(in) || c.right.holds(in) }
func (c negated) holds(in attributes) bool { return !c.inner.holds(in) }

func (c compare) holds(in attributes) bool {
	return compares(c.op, c.left.of(in), c.right.of(in))
}

func (c between) holds(in attributes) bool {
	v := c.what.of(in)
	return compares(">=", v, c.low.of(in)) && compares("<=", v, c.high.of(in))
}

func (c oneOf) holds(in attributes) bool {
	v := c.what.of(in)
	return slices.ContainsFunc(c.of, func(o operand) bool { return compares("=", v, o.of(in)) })
}

// compares applies a comparator. A missing value compares to nothing, except that it is not equal
// to any existing value.
func compares(op string, a, b types.AttributeValue) bool {
	switch op {
	case "=":
		return a != nil && b != nil && equalValues(a, b)
	case "<>":
		return a == nil || b == nil || !equalValues(a, b)
	}
	if a == nil || b == nil || typeOf(a) != typeOf(b) {
		return false
	}
	x, ordered := sortKeyOf(a)
	if !ordered {
		return false
	}
	y, _ := sortKeyOf(b)
	switch op {
	case "<":
		return x < y
	case "<=":
		return x <= y
	case ">":
		return x > y
	default:
		return x >= y
	}
}

func (c call) holds(in attributes) bool {
	v := c.args[0].of(in)
	switch c.function {
	case "attribute_exists":
		return v != nil
	case "attribute_not_exists":
		return v == nil
	}
	arg := c.args[1].of(in)
	if v == nil || arg == nil {
		return false
	}
	switch c.function {
	case "attribute_type":
		kind, _ := sortKeyOf(arg)
		return typeOf(v) == kind
	case "begins_with":
		return beginsWith(v, arg)
	default:
		return contains(v, arg)
	}
}

func beginsWith(v, prefix types.AttributeValue) bool {
	if kind := typeOf(v); kind != typeOf(prefix) || (kind != "S" && kind != "B") {
		return false
	}
	x, _ := sortKeyOf(v)
	y, _ := sortKeyOf(prefix)
	return strings.HasPrefix(x, y)
}

func contains(v, what types.AttributeValue) bool {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		part, ok := what.(*types.AttributeValueMemberS)
		return ok && strings.Contains(v.Value, part.Value)
	case *types.AttributeValueMemberB:
		part, ok := what.(*types.AttributeValueMemberB)
		return ok && bytes.Contains(v.Value, part.Value)
	case *types.AttributeValueMemberL:
		return slices.ContainsFunc(v.Value, func(o types.AttributeValue) bool { return equalValues(o, what) })
	case *types.AttributeValueMemberSS:
		part, ok := what.(*types.AttributeValueMemberS)
		return ok && slices.Contains(v.Value, part.Value)
	case *types.AttributeValueMemberNS:
		part, ok := what.(*types.AttributeValueMemberN)
		return ok && slices.Contains(v.Value, part.Value)
	case *types.AttributeValueMemberBS:
		part, ok := what.(*types.AttributeValueMemberB)
		return ok && indexBytes(v.Value, part.Value) >= 0
	}
	return false
}
