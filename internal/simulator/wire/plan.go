package wire

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// dialect selects one of a service's name tables.
type dialect int

const (
	dialectJSON dialect = iota
	dialectQuery
	dialectEC2
	dialectXML
)

// field is one member of a structure with its name in a dialect.
type field struct {
	index int
	Name
}

// plan holds the names of a structure's members in one service and dialect.
type plan struct {
	fields []field
	byName map[string]int // by wire name and by its lower-case form
}

type planKey struct {
	service *Service
	dialect dialect
	typ     reflect.Type
}

var (
	plans    sync.Map // planKey → *plan
	timeType = reflect.TypeFor[time.Time]()
)

// planOf returns the cached plan of a structure type.
func (s *Service) planOf(d dialect, t reflect.Type) *plan {
	key := planKey{s, d, t}
	if p, ok := plans.Load(key); ok {
		return p.(*plan) //nolint:forcetypeassert // only plans are stored
	}
	p := s.makePlan(d, t)
	plans.Store(key, p)
	return p
}

func (s *Service) makePlan(d dialect, t reflect.Type) *plan {
	p := &plan{byName: map[string]int{}}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() || f.Name == "ResultMetadata" {
			continue
		}
		n := s.nameOf(d, t, f.Name)
		p.fields = append(p.fields, field{index: i, Name: n})
	}
	p.index(t)
	return p
}

// index indexes the members by name. Names in requests take precedence over names in responses, and
// both over the Go names.
func (p *plan) index(t reflect.Type) {
	enter := func(i int, name string) {
		if _, taken := p.byName[name]; !taken && name != "" {
			p.byName[name] = i
		}
	}
	for _, called := range []func(field) string{
		func(f field) string { return f.Request },
		func(f field) string { return f.Wire },
		func(f field) string { return t.Field(f.index).Name },
	} {
		for i, f := range p.fields {
			enter(i, called(f))
		}
		for i, f := range p.fields {
			enter(i, strings.ToLower(called(f)))
		}
	}
}

// nameOf applies the service's rule and exceptions to one member.
func (s *Service) nameOf(d dialect, t reflect.Type, name string) Name {
	tables := []map[string]Name{s.Names}
	if d == dialectQuery {
		tables = []map[string]Name{s.QueryNames, s.Names}
	}
	n := Name{}
	for _, table := range tables {
		found, ok := table[t.Name()+"."+name]
		if !ok {
			found, ok = table[name]
		}
		if ok {
			n = found
			break
		}
	}
	if n.Wire == "" {
		n.Wire = name
		if s.LowerCamel || d == dialectEC2 {
			n.Wire = lowerFirst(name)
		}
	}
	if n.Item == "" {
		n.Item = "member"
		if d == dialectEC2 {
			n.Item = "item"
		}
	}
	if n.Key == "" {
		n.Key = "key"
	}
	if n.Value == "" {
		n.Value = "value"
	}
	return n
}

// find returns the member with a wire name, case-insensitively.
func (p *plan) find(name string) (field, bool) {
	i, ok := p.byName[name]
	if !ok {
		i, ok = p.byName[strings.ToLower(name)]
	}
	if !ok {
		return field{}, false
	}
	return p.fields[i], true
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// union is a union registered by [RegisterUnion].
type union struct {
	byName map[string]reflect.Type // wire name → member structure
	names  map[reflect.Type]string // member structure → wire name
}

var unions sync.Map // interface type → *union

// RegisterUnion registers the members of a union: its Go interface and one pointer to each of its
// member structures. Member names follow from the structures' names: AttributeValueMemberS is "S".
//
//	wire.RegisterUnion[types.AttributeValue](&types.AttributeValueMemberS{}, &types.AttributeValueMemberN{}, …)
func RegisterUnion[T any](members ...T) {
	iface := reflect.TypeFor[T]()
	u := &union{byName: map[string]reflect.Type{}, names: map[reflect.Type]string{}}
	for _, m := range members {
		t := reflect.TypeOf(m).Elem()
		name := strings.TrimPrefix(t.Name(), iface.Name()+"Member")
		u.byName[name] = t
		u.names[t] = name
	}
	unions.Store(iface, u)
}

func unionOf(t reflect.Type) (*union, error) {
	u, ok := unions.Load(t)
	if !ok {
		return nil, fmt.Errorf("%s is not a registered union", t)
	}
	return u.(*union), nil //nolint:forcetypeassert // only unions are stored
}

// member returns the structure of a union's member by its wire name.
func (u *union) member(name string) (reflect.Type, bool) {
	t, ok := u.byName[name]
	if !ok && name != "" {
		t, ok = u.byName[strings.ToUpper(name[:1])+name[1:]]
	}
	return t, ok
}
