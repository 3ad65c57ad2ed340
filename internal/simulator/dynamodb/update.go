package dynamodb

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// update is a parsed update expression.
type update struct {
	set     []assignment
	remove  []path
	add     []delta
	without []delta // DELETE
	paths   []path
}

// assignment is one action of SET.
type assignment struct {
	to   path
	from source
}

// delta is one action of ADD or DELETE.
type delta struct {
	to    path
	value types.AttributeValue
}

// source is the right side of an assignment.
type source interface {
	compute(in attributes) (types.AttributeValue, error)
}

type (
	ifNotExists struct {
		path path
		or   source
	}
	listAppend struct{ left, right source }
	arithmetic struct {
		minus       bool
		left, right source
	}
)

func (o literal) compute(attributes) (types.AttributeValue, error) { return o.value, nil }

func (o path) compute(in attributes) (types.AttributeValue, error) {
	if v := o.find(in); v != nil {
		return v, nil
	}
	return nil, invalid("The provided expression refers to an attribute that does not exist in the item")
}

func (o ifNotExists) compute(in attributes) (types.AttributeValue, error) {
	if v := o.path.find(in); v != nil {
		return v, nil
	}
	return o.or.compute(in)
}

func (o listAppend) compute(in attributes) (types.AttributeValue, error) {
	left, right, err := bothSides(in, o.left, o.right)
	if err != nil {
		return nil, err
	}
	l, leftIsList := left.(*types.AttributeValueMemberL)
	r, rightIsList := right.(*types.AttributeValueMemberL)
	if !leftIsList || !rightIsList {
		return nil, wrongOperand()
	}
	return &types.AttributeValueMemberL{Value: slices.Concat(l.Value, r.Value)}, nil
}

func (o arithmetic) compute(in attributes) (types.AttributeValue, error) {
	left, right, err := bothSides(in, o.left, o.right)
	if err != nil {
		return nil, err
	}
	return sum(left, right, o.minus)
}

func bothSides(in attributes, left, right source) (l, r types.AttributeValue, err error) {
	if l, err = left.compute(in); err != nil {
		return nil, nil, err
	}
	r, err = right.compute(in)
	return l, r, err
}

func sum(left, right types.AttributeValue, minus bool) (types.AttributeValue, error) {
	l, leftIsNumber := left.(*types.AttributeValueMemberN)
	r, rightIsNumber := right.(*types.AttributeValueMemberN)
	if !leftIsNumber || !rightIsNumber {
		return nil, wrongOperand()
	}
	x, err := parseNumber(l.Value)
	if err != nil {
		return nil, err
	}
	y, err := parseNumber(r.Value)
	if err != nil {
		return nil, err
	}
	if minus {
		y = y.negated()
	}
	total, err := x.add(y)
	if err != nil {
		return nil, err
	}
	return &types.AttributeValueMemberN{Value: total.String()}, nil
}

func wrongOperand() error {
	return invalid("An operand in the update expression has an incorrect data type")
}

func wrongPath() error {
	return invalid("The document path provided in the update expression is invalid for update")
}

// apply returns the updated item. It does not change the given item, from which it computes all
// values.
func (u *update) apply(in attributes) (attributes, error) {
	out := copiedItem(in)
	if err := u.applySet(in, out); err != nil {
		return nil, err
	}
	for _, d := range u.add {
		v, err := added(d.to.find(in), d.value)
		if err != nil {
			return nil, err
		}
		if err := put(out, d.to, v); err != nil {
			return nil, err
		}
	}
	for _, d := range u.without {
		if err := d.applyDelete(in, out); err != nil {
			return nil, err
		}
	}
	return out, u.applyRemove(out)
}

func (u *update) applySet(in, out attributes) error {
	values := make([]types.AttributeValue, len(u.set))
	for i, a := range u.set {
		v, err := a.from.compute(in)
		if err != nil {
			return err
		}
		values[i] = copied(v)
	}
	for i, a := range u.set {
		if err := put(out, a.to, values[i]); err != nil {
			return err
		}
	}
	return nil
}

// applyRemove removes the paths, from the end of lists, so that positions refer to the original
// item.
func (u *update) applyRemove(out attributes) error {
	order := slices.Clone(u.remove)
	slices.SortStableFunc(order, func(a, b path) int {
		return cmp.Compare(b[len(b)-1].position, a[len(a)-1].position)
	})
	for _, p := range order {
		if err := remove(out, p); err != nil {
			return err
		}
	}
	return nil
}

// put sets the value at the path; a list position past the end appends.
func put(in attributes, p path, v types.AttributeValue) error {
	last := p[len(p)-1]
	if len(p) == 1 {
		in[last.key] = v
		return nil
	}
	switch parent := p[:len(p)-1].find(in).(type) {
	case *types.AttributeValueMemberM:
		if !last.isPosition() {
			parent.Value[last.key] = v
			return nil
		}
	case *types.AttributeValueMemberL:
		if last.isPosition() && last.position < len(parent.Value) {
			parent.Value[last.position] = v
			return nil
		}
		if last.isPosition() {
			parent.Value = append(parent.Value, v)
			return nil
		}
	}
	return wrongPath()
}

func remove(in attributes, p path) error {
	last := p[len(p)-1]
	if len(p) == 1 {
		delete(in, last.key)
		return nil
	}
	switch parent := p[:len(p)-1].find(in).(type) {
	case *types.AttributeValueMemberM:
		if !last.isPosition() {
			delete(parent.Value, last.key)
			return nil
		}
	case *types.AttributeValueMemberL:
		if last.isPosition() && last.position < len(parent.Value) {
			parent.Value = slices.Delete(parent.Value, last.position, last.position+1)
		}
		if last.isPosition() {
			return nil
		}
	}
	return wrongPath()
}

// added returns the result of ADD: the sum of numbers or the union of sets.
func added(old, v types.AttributeValue) (types.AttributeValue, error) {
	if old == nil {
		return v, nil
	}
	if typeOf(old) != typeOf(v) {
		return nil, wrongOperand()
	}
	if typeOf(v) == "N" {
		return sum(old, v, false)
	}
	union := members(old)
	for _, m := range members(v) {
		if !slices.Contains(union, m) {
			union = append(union, m)
		}
	}
	return setOf(typeOf(v), union), nil
}

func (d delta) applyDelete(in, out attributes) error {
	old := d.to.find(in)
	if old == nil {
		return nil
	}
	if typeOf(old) != typeOf(d.value) {
		return wrongOperand()
	}
	gone := members(d.value)
	rest := slices.DeleteFunc(members(old), func(m string) bool { return slices.Contains(gone, m) })
	if len(rest) == 0 {
		return remove(out, d.to)
	}
	return put(out, d.to, setOf(typeOf(old), rest))
}
