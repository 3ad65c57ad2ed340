package wire

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// node is one level of the parameters of a Query request: "A.member.1.B=x" is
// the value x below A, member, 1 and B.
type node struct {
	value    string
	children map[string]*node
}

// maxDepth bounds how deep parameter names nest.
const maxDepth = 32

func parseTree(values url.Values) *node {
	root := &node{}
	for key, list := range values {
		if len(list) == 0 {
			continue
		}
		at := root
		for _, part := range strings.SplitN(key, ".", maxDepth) {
			if at.children == nil {
				at.children = map[string]*node{}
			}
			next, ok := at.children[part]
			if !ok {
				next = &node{}
				at.children[part] = next
			}
			at = next
		}
		at.value = list[0]
	}
	return root
}

// decodeQuery decodes the parameters of a request into v, a pointer to an SDK
// structure.
func (s *Service) decodeQuery(d dialect, values url.Values, v any) error {
	return s.fromNode(d, parseTree(values), reflect.ValueOf(v).Elem(), Name{})
}

func (s *Service) fromNode(d dialect, n *node, v reflect.Value, name Name) error {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return s.fromNode(d, n, v.Elem(), name)
	case reflect.Struct:
		if v.Type() == timeType {
			return setTime(v, n.value)
		}
		return s.fromNodeStruct(d, n, v)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return setBytes(v, n.value)
		}
		return s.fromNodeList(d, n, v)
	case reflect.Map:
		return s.fromNodeMap(d, n, v, name)
	default:
		return setScalar(v, n.value)
	}
}

func (s *Service) fromNodeStruct(d dialect, n *node, v reflect.Value) error {
	p := s.planOf(d, v.Type())
	for key, child := range n.children {
		f, ok := p.find(key)
		if !ok {
			continue
		}
		if err := s.fromNode(d, child, v.Field(f.index), f.Name); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// entries returns the numbered children in order, either flattened or below one wrapper ("member",
// "entry", "Item" …).
func (n *node) entries() []*node {
	if len(n.children) == 1 {
		for key, child := range n.children {
			if _, err := strconv.Atoi(key); err != nil {
				return child.entries()
			}
		}
	}
	type numbered struct {
		n    int
		node *node
	}
	var list []numbered
	for key, child := range n.children {
		if i, err := strconv.Atoi(key); err == nil {
			list = append(list, numbered{i, child})
		}
	}
	slices.SortFunc(list, func(a, b numbered) int { return cmp.Compare(a.n, b.n) })
	nodes := make([]*node, len(list))
	for i, e := range list {
		nodes[i] = e.node
	}
	return nodes
}

func (s *Service) fromNodeList(d dialect, n *node, v reflect.Value) error {
	entries := n.entries()
	list := reflect.MakeSlice(v.Type(), len(entries), len(entries))
	for i, entry := range entries {
		if err := s.fromNode(d, entry, list.Index(i), Name{}); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

func (s *Service) fromNodeMap(d dialect, n *node, v reflect.Value, name Name) error {
	entries := n.entries()
	result := reflect.MakeMapWithSize(v.Type(), len(entries))
	for _, entry := range entries {
		key := entry.child(name.Key, "key", "Name")
		value := entry.child(name.Value, "value", "Value")
		if key == nil {
			continue
		}
		element := reflect.New(v.Type().Elem()).Elem()
		if value != nil {
			if err := s.fromNode(d, value, element, Name{}); err != nil {
				return err
			}
		}
		result.SetMapIndex(reflect.ValueOf(key.value).Convert(v.Type().Key()), element)
	}
	v.Set(result)
	return nil
}

// child returns the first child that has one of the names, case-insensitively.
func (n *node) child(names ...string) *node {
	for _, name := range names {
		for key, child := range n.children {
			if strings.EqualFold(key, name) {
				return child
			}
		}
	}
	return nil
}
