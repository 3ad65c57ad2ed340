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

// item is a resource with an ID.
type item interface{ ident() string }

// named implements item.
type named struct{ id string }

func (n named) ident() string { return n.id }

// table holds the resources of one kind by ID.
type table[T item] struct{ byID map[string]T }

func newTable[T item]() table[T] { return table[T]{byID: map[string]T{}} }

// get returns the resource with an ID, or EC2's error for its kind of ID.
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

// sorted returns the resources ordered by ID.
func (t table[T]) sorted() []T {
	all := make([]T, 0, len(t.byID))
	for _, x := range t.byID {
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(a.ident(), b.ident()) })
	return all
}

// first returns the first resource, by ID, for which fn returns true.
func (t table[T]) first(fn func(T) bool) (T, bool) {
	var first T
	found := false
	for _, x := range t.byID {
		if fn(x) && (!found || x.ident() < first.ident()) {
			first, found = x, true
		}
	}
	return first, found
}

// has reports whether fn returns true for any resource.
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

// wanted holds the parameters of a Describe operation.
type wanted struct {
	ids     []string
	filters []types.Filter
	max     *int32
	token   *string
}

// describe implements a Describe operation: it returns a page of the resources, by ID or all, that
// pass the filters.
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

// NewID generates an ID of EC2's form: the prefix and 17 hexadecimal digits.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/resource-ids.html
func NewID(prefix string) string {
	random := make([]byte, 9)
	_, _ = rand.Read(random) // never fails, see crypto/rand
	return prefix + "-0" + hex.EncodeToString(random)[:16]
}

// newID generates an ID and registers it with its tags.
func (r *region) newID(prefix string, kind types.ResourceType, tags map[string]string) named {
	id := NewID(prefix)
	r.tags.Register(id, kind, tags)
	return named{id}
}

func missing(parameter string) *wire.Error {
	return wire.Errorf("MissingParameter", "The request must contain the parameter %s", parameter)
}

func invalid(parameter string, value any, why string) *wire.Error {
	return wire.Errorf(
		"InvalidParameterValue",
		"%s",
		strings.TrimSpace(wire.Errorf("", "Value (%v) for parameter %s is invalid. %s", value, parameter, why).Message),
	)
}

// unsupported rejects a parameter that the simulator does not support.
func unsupported(parameter string) *wire.Error {
	return wire.Errorf("UnsupportedOperation", "The simulator does not support the parameter %s.", parameter)
}

// depends returns the error for a resource on which others depend.
func depends(kind, id string) *wire.Error {
	return wire.Errorf("DependencyViolation", "The %s '%s' has dependencies and cannot be deleted.", kind, id)
}

// parseRange parses an IPv4 CIDR block and clears its host bits, as EC2 does.
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

// yes is the response of operations that return true.
func yes() *bool { return aws.Bool(true) }
