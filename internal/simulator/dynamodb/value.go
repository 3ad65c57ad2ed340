package dynamodb

import (
	"bytes"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// attributes is an item, or a map in one. Stored attributes are immutable: updates change a copy.
type attributes = map[string]types.AttributeValue

// maxNesting is the maximum depth of lists and maps:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-attributes-nested
const maxNesting = 32

// checkedItem returns the item with its numbers in canonical form, or DynamoDB's error.
func checkedItem(in attributes) (attributes, error) {
	return checkedMap(in, 0)
}

func checkedMap(in attributes, depth int) (attributes, error) {
	out := make(attributes, len(in))
	for name, v := range in {
		checked, err := checkedValue(v, depth)
		if err != nil {
			return nil, err
		}
		out[name] = checked
	}
	return out, nil
}

// checkedValue returns the value with its numbers in canonical form, or DynamoDB's error.
func checkedValue(v types.AttributeValue, depth int) (types.AttributeValue, error) {
	if depth > maxNesting {
		return nil, invalid(
			"Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit",
		)
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberS, *types.AttributeValueMemberB, *types.AttributeValueMemberBOOL:
		return v, nil
	case *types.AttributeValueMemberNULL:
		if !v.Value {
			return nil, invalid("One or more parameter values were invalid: Null attribute value types must have the value of true")
		}
		return v, nil
	case *types.AttributeValueMemberN:
		n, err := parseNumber(v.Value)
		if err != nil {
			return nil, err
		}
		return &types.AttributeValueMemberN{Value: n.String()}, nil
	case *types.AttributeValueMemberM:
		m, err := checkedMap(v.Value, depth+1)
		return &types.AttributeValueMemberM{Value: m}, err
	case *types.AttributeValueMemberL:
		return checkedList(v, depth)
	default:
		return checkedSet(v)
	}
}

func checkedList(v *types.AttributeValueMemberL, depth int) (types.AttributeValue, error) {
	out := make([]types.AttributeValue, len(v.Value))
	for i, element := range v.Value {
		checked, err := checkedValue(element, depth+1)
		if err != nil {
			return nil, err
		}
		out[i] = checked
	}
	return &types.AttributeValueMemberL{Value: out}, nil
}

func checkedSet(v types.AttributeValue) (types.AttributeValue, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberSS:
		if len(v.Value) == 0 {
			return nil, invalid("One or more parameter values were invalid: An string set  may not be empty")
		}
		return v, refuseDuplicates(v.Value)
	case *types.AttributeValueMemberNS:
		if len(v.Value) == 0 {
			return nil, invalid("One or more parameter values were invalid: An number set  may not be empty")
		}
		out := make([]string, len(v.Value))
		for i, text := range v.Value {
			n, err := parseNumber(text)
			if err != nil {
				return nil, err
			}
			out[i] = n.String()
		}
		return &types.AttributeValueMemberNS{Value: out}, refuseDuplicates(out)
	case *types.AttributeValueMemberBS:
		if len(v.Value) == 0 {
			return nil, invalid("One or more parameter values were invalid: Binary sets should not be empty")
		}
		for i, b := range v.Value {
			if indexBytes(v.Value[:i], b) >= 0 {
				return nil, invalid("One or more parameter values were invalid: Input collection of type BS contains duplicates.")
			}
		}
		return v, nil
	}
	return nil, invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
}

func refuseDuplicates(set []string) error {
	seen := make(map[string]struct{}, len(set))
	for _, s := range set {
		if _, found := seen[s]; found {
			return invalid("One or more parameter values were invalid: Input collection %v contains duplicates.", set)
		}
		seen[s] = struct{}{}
	}
	return nil
}

func indexBytes(set [][]byte, b []byte) int {
	return slices.IndexFunc(set, func(o []byte) bool { return bytes.Equal(o, b) })
}

// typeOf returns DynamoDB's one- to four-letter name of the value's type.
func typeOf(v types.AttributeValue) string {
	switch v.(type) {
	case *types.AttributeValueMemberS:
		return "S"
	case *types.AttributeValueMemberN:
		return "N"
	case *types.AttributeValueMemberB:
		return "B"
	case *types.AttributeValueMemberBOOL:
		return "BOOL"
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberM:
		return "M"
	case *types.AttributeValueMemberL:
		return "L"
	case *types.AttributeValueMemberSS:
		return "SS"
	case *types.AttributeValueMemberNS:
		return "NS"
	case *types.AttributeValueMemberBS:
		return "BS"
	}
	return ""
}

// sortKeyOf encodes a string, number or binary so that byte order is
// DynamoDB's order; ok is false for other types.
func sortKeyOf(v types.AttributeValue) (key string, ok bool) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value, true
	case *types.AttributeValueMemberB:
		return string(v.Value), true
	case *types.AttributeValueMemberN:
		n, err := parseNumber(v.Value)
		return n.sortKey(), err == nil
	}
	return "", false
}

// equalValues reports whether two checked values are equal. The order of sets does not matter.
func equalValues(a, b types.AttributeValue) bool {
	if typeOf(a) != typeOf(b) {
		return false
	}
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		return a.Value == b.(*types.AttributeValueMemberS).Value
	case *types.AttributeValueMemberN:
		return a.Value == b.(*types.AttributeValueMemberN).Value
	case *types.AttributeValueMemberB:
		return bytes.Equal(a.Value, b.(*types.AttributeValueMemberB).Value)
	case *types.AttributeValueMemberBOOL:
		return a.Value == b.(*types.AttributeValueMemberBOOL).Value
	case *types.AttributeValueMemberNULL:
		return true
	case *types.AttributeValueMemberM:
		return maps.EqualFunc(a.Value, b.(*types.AttributeValueMemberM).Value, equalValues)
	case *types.AttributeValueMemberL:
		return slices.EqualFunc(a.Value, b.(*types.AttributeValueMemberL).Value, equalValues)
	}
	return equalSets(a, b)
}

func equalSets(a, b types.AttributeValue) bool {
	x, y := members(a), members(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// members returns a copy of the set's members as strings.
func members(v types.AttributeValue) []string {
	switch v := v.(type) {
	case *types.AttributeValueMemberSS:
		return slices.Clone(v.Value)
	case *types.AttributeValueMemberNS:
		return slices.Clone(v.Value)
	case *types.AttributeValueMemberBS:
		out := make([]string, len(v.Value))
		for i, b := range v.Value {
			out[i] = string(b)
		}
		return out
	}
	return nil
}

// setOf returns a set of the given type.
func setOf(kind string, in []string) types.AttributeValue {
	switch kind {
	case "SS":
		return &types.AttributeValueMemberSS{Value: in}
	case "NS":
		return &types.AttributeValueMemberNS{Value: in}
	default:
		out := make([][]byte, len(in))
		for i, s := range in {
			out[i] = []byte(s)
		}
		return &types.AttributeValueMemberBS{Value: out}
	}
}

// copied returns the value with its maps and lists copied, so that they can be changed. Scalars and
// sets are shared.
func copied(v types.AttributeValue) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		return &types.AttributeValueMemberM{Value: copiedItem(v.Value)}
	case *types.AttributeValueMemberL:
		out := make([]types.AttributeValue, len(v.Value))
		for i, element := range v.Value {
			out[i] = copied(element)
		}
		return &types.AttributeValueMemberL{Value: out}
	}
	return v
}

func copiedItem(in attributes) attributes {
	out := make(attributes, len(in))
	for name, v := range in {
		out[name] = copied(v)
	}
	return out
}

// sizeOfItem returns the size of the item for limits and capacity:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
func sizeOfItem(in attributes) int {
	size := 0
	for name, v := range in {
		size += len(name) + sizeOfValue(v)
	}
	return size
}

func sizeOfValue(v types.AttributeValue) int {
	size := 0
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return sizeOfNumber(v.Value)
	case *types.AttributeValueMemberM:
		return 3 + len(v.Value) + sizeOfItem(v.Value)
	case *types.AttributeValueMemberL:
		for _, element := range v.Value {
			size += 1 + sizeOfValue(element)
		}
		return 3 + size
	case *types.AttributeValueMemberNS:
		for _, n := range v.Value {
			size += sizeOfNumber(n)
		}
		return size
	case *types.AttributeValueMemberSS, *types.AttributeValueMemberBS:
		for _, s := range members(v) {
			size += len(s)
		}
		return size
	}
	return 1
}

func sizeOfNumber(text string) int {
	n, err := parseNumber(text)
	if err != nil {
		return 1
	}
	size := 1 + (len(n.digits)+1)/2
	if n.negative {
		size++
	}
	return size
}
