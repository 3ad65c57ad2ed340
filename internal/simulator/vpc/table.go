package vpc

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// item is anything with an id of EC2.
type item interface{ ident() string }

// named is what has an id.
type named struct{ id string }

func (n named) ident() string { return n.id }

// table holds resources of one kind by id.
type table[T item] struct{ byID map[string]T }

func newTable[T item]() table[T] { return table[T]{byID: map[string]T{}} }

// get returns the resource of an id, or errs as EC2 does for its kind of id.
func (t table[T]) get(id *string) (T, error) {
	x, ok := t.byID[aws.ToString(id)]
	if !ok {
		if aws.ToString(id) == "" {
			return x, missing("id")
		}
		return x, noID(*id)
	}
	return x, nil
}

// sorted returns the resources in the order of their ids.
func (t table[T]) sorted() []T {
	all := make([]T, 0, len(t.byID))
	for _, x := range t.byID {
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(a.ident(), b.ident()) })
	return all
}

// first returns a resource that fn is true of, in order of ids.
func (t table[T]) first(fn func(T) bool) (T, bool) {
	for _, x := range t.sorted() {
		if fn(x) {
			return x, true
		}
	}
	var none T
	return none, false
}

// has reports whether fn is true of any.
func (t table[T]) has(fn func(T) bool) bool {
	for _, x := range t.byID {
		if fn(x) {
			return true
		}
	}
	return false
}

func (t table[T]) count(fn func(T) bool) (n int) {
	for _, x := range t.byID {
		if fn(x) {
			n++
		}
	}
	return n
}

// wanted is what a Describe operation asks for.
type wanted struct {
	ids     []string
	filters []types.Filter
	max     *int32
	token   *string
}

// describe answers a Describe operation: the resources asked for by id, or all,
// that pass the filters, a page at a time.
func describe[T item, O any](r *region, t table[T], w wanted, fields Fields[T], out func(T) O) ([]O, *string, error) {
	pass, err := fields.Compile(w.filters)
	if err != nil {
		return nil, nil, err
	}
	var all []T
	candidates, narrowed := r.tags.Narrow(w.filters)
	switch {
	case len(w.ids) > 0:
		for _, id := range w.ids {
			x, err := t.get(&id)
			if err != nil {
				return nil, nil, err
			}
			all = append(all, x)
		}
	case narrowed:
		for _, id := range candidates {
			if x, ok := t.byID[id]; ok {
				all = append(all, x)
			}
		}
	default:
		all = t.sorted()
	}
	found := slices.DeleteFunc(all, func(x T) bool { return !pass(x, r.tags.Of(x.ident())) })
	page, next, err := Page(found, T.ident, w.max, w.token)
	if err != nil {
		return nil, nil, err
	}
	list := make([]O, 0, len(page))
	for _, x := range page {
		list = append(list, out(x))
	}
	return list, next, nil
}

// NewID makes an id of EC2's form: the prefix and 17 hexadecimal digits.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/resource-ids.html
func NewID(prefix string) string {
	random := make([]byte, 9)
	_, _ = rand.Read(random) // never fails, see crypto/rand
	return prefix + "-0" + hex.EncodeToString(random)[:16]
}

// newID makes an id and registers it with its tags.
func (r *region) newID(prefix string, kind types.ResourceType, tags map[string]string) named {
	id := NewID(prefix)
	r.tags.Register(id, kind, tags)
	return named{id}
}

func missing(parameter string) *wire.Error {
	return wire.Errorf("MissingParameter", "The request must contain the parameter %s", parameter)
}

func invalid(parameter string, value any, why string) *wire.Error {
	return wire.Errorf("InvalidParameterValue", "%s", strings.TrimSpace(wire.Errorf("", "Value (%v) for parameter %s is invalid. %s", value, parameter, why).Message))
}

// unsupported refuses what the simulator does not do rather than to pass it over.
func unsupported(parameter string) *wire.Error {
	return wire.Errorf("UnsupportedOperation", "The simulator does not support the parameter %s.", parameter)
}

// depends is the error for what cannot go as something hangs on it.
func depends(kind, id string) *wire.Error {
	return wire.Errorf("DependencyViolation", "The %s '%s' has dependencies and cannot be deleted.", kind, id)
}

// parseRange reads an IPv4 CIDR block and clears its host bits, as EC2 does.
func parseRange(parameter, text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil || !p.Addr().Is4() {
		return netip.Prefix{}, invalid(parameter, text, "This is not a valid CIDR block.")
	}
	return p.Masked(), nil
}

func text(s string) []string { return []string{s} }

func flag(b bool) []string {
	if b {
		return []string{"true"}
	}
	return []string{"false"}
}

// yes is the answer of operations that say so.
func yes() *bool { return aws.Bool(true) }
