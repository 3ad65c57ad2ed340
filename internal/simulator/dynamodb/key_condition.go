package dynamodb

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// keyCondition is a parsed KeyConditionExpression: the partition and a test of sort keys (all match
// if sort is nil).
type keyCondition struct {
	partition types.AttributeValue
	sort      func(key string) bool
}

// newKeyCondition converts a condition to a key condition.
func newKeyCondition(c condition, key keySchema, t *table) (*keyCondition, error) {
	parts, err := conjuncts(c)
	if err != nil {
		return nil, err
	}
	if len(parts) > 2 {
		return nil, invalid("Conditions can be of length 1 or 2 only")
	}
	byName := map[string]condition{}
	for _, part := range parts {
		name, values, err := keyOperands(part)
		if err != nil {
			return nil, err
		}
		if byName[name] != nil {
			return nil, invalid("Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key")
		}
		if err := t.checkConditionTypes(name, values, key); err != nil {
			return nil, err
		}
		byName[name] = part
	}
	if byName[key.partition] == nil {
		return nil, invalid("Query condition missed key schema element: %s", key.partition)
	}
	equal, ok := byName[key.partition].(compare)
	if !ok || equal.op != "=" {
		return nil, invalid("Query key condition not supported")
	}
	out := &keyCondition{partition: equal.right.of(nil)}
	if len(parts) == 1 {
		return out, nil
	}
	onSort := byName[key.sort]
	if onSort == nil {
		if key.sort == "" {
			return nil, invalid("Query key condition not supported")
		}
		return nil, invalid("Query condition missed key schema element: %s", key.sort)
	}
	out.sort = sortTest(onSort)
	return out, nil
}

// conjuncts splits a condition at its ANDs.
func conjuncts(c condition) ([]condition, error) {
	both, ok := c.(allOf)
	if !ok {
		return []condition{c}, nil
	}
	left, err := conjuncts(both.left)
	if err != nil {
		return nil, err
	}
	right, err := conjuncts(both.right)
	return append(left, right...), err
}

// keyOperands returns the key attribute in one part of a key condition and the values that it is
// compared with.
func keyOperands(c condition) (name string, values []types.AttributeValue, err error) {
	var what operand
	var with []operand
	switch c := c.(type) {
	case compare:
		if c.op == "<>" {
			return "", nil, wrongKeyOperator("<>")
		}
		what, with = c.left, []operand{c.right}
	case between:
		what, with = c.what, []operand{c.low, c.high}
	case call:
		if c.function != "begins_with" {
			return "", nil, wrongKeyOperator(c.function)
		}
		what, with = c.args[0], c.args[1:]
	default:
		return "", nil, wrongKeyOperator(operatorOf(c))
	}
	at, isPath := what.(path)
	if !isPath {
		return "", nil, invalid(
			"Invalid KeyConditionExpression: Invalid operand in condition; the key attribute must stand on the left side",
		)
	}
	if len(at) != 1 {
		return "", nil, invalid("Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes")
	}
	for _, o := range with {
		l, isLiteral := o.(literal)
		if !isLiteral {
			return "", nil, invalid(
				"Invalid KeyConditionExpression: KeyConditionExpressions cannot contain more than one attribute name in a condition",
			)
		}
		values = append(values, l.value)
	}
	return at[0].key, values, nil
}

func operatorOf(c condition) string {
	switch c.(type) {
	case anyOf:
		return "OR"
	case negated:
		return "NOT"
	}
	return "IN"
}

func wrongKeyOperator(operator string) error {
	return invalid("Invalid operator used in KeyConditionExpression: %s", operator)
}

func (t *table) checkConditionTypes(name string, values []types.AttributeValue, key keySchema) error {
	if name != key.partition && name != key.sort {
		return nil
	}
	for _, v := range values {
		if typeOf(v) != string(t.typeOf(name)) {
			return invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
		}
		if encoded, _ := sortKeyOf(v); encoded == "" {
			return invalid(
				"One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s",
				name,
			)
		}
	}
	return nil
}

// sortTest returns a test of encoded sort keys, so that a query does not decode items that do not
// match.
func sortTest(c condition) func(string) bool {
	encoded := func(o operand) string {
		key, _ := sortKeyOf(o.of(nil))
		return key
	}
	switch c := c.(type) {
	case between:
		low, high := encoded(c.low), encoded(c.high)
		return func(key string) bool { return low <= key && key <= high }
	case call:
		prefix := encoded(c.args[1])
		return func(key string) bool { return strings.HasPrefix(key, prefix) }
	case compare:
		want := encoded(c.right)
		return map[string]func(string) bool{
			"=":  func(key string) bool { return key == want },
			"<":  func(key string) bool { return key < want },
			"<=": func(key string) bool { return key <= want },
			">":  func(key string) bool { return key > want },
			">=": func(key string) bool { return key >= want },
		}[c.op]
	}
	return func(string) bool { return false }
}
