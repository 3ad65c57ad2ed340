package dynamodb

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// path is a path in an item: an attribute and the map keys and list positions below it.
type path []step

// step is a map key, or a list position when key is empty.
type step struct {
	key      string
	position int
}

func (s step) isPosition() bool { return s.key == "" }

// String formats a path as in DynamoDB's errors: [a, b, [1]].
func (p path) String() string {
	parts := make([]string, len(p))
	for i, s := range p {
		parts[i] = s.key
		if s.isPosition() {
			parts[i] = "[" + strconv.Itoa(s.position) + "]"
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// find returns the value at the path, or nil.
func (p path) find(in attributes) types.AttributeValue {
	var v types.AttributeValue = &types.AttributeValueMemberM{Value: in}
	for _, s := range p {
		if v = child(v, s); v == nil {
			return nil
		}
	}
	return v
}

func child(v types.AttributeValue, s step) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		if !s.isPosition() {
			return v.Value[s.key]
		}
	case *types.AttributeValueMemberL:
		if s.isPosition() && s.position < len(v.Value) {
			return v.Value[s.position]
		}
	}
	return nil
}

// checkDisjoint rejects paths that contain or conflict with one another.
func checkDisjoint(kind string, paths []path) error {
	for i, a := range paths {
		for _, b := range paths[:i] {
			if reason := clash(b, a); reason != "" {
				return invalid(
					"Invalid %s: Two document paths %s with each other; must remove or rewrite one of these paths; path one: %s, path two: %s",
					kind,
					reason,
					b,
					a,
				)
			}
		}
	}
	return nil
}

func clash(a, b path) string {
	for i := range min(len(a), len(b)) {
		if a[i].isPosition() != b[i].isPosition() {
			return "conflict"
		}
		if a[i] != b[i] {
			return ""
		}
	}
	return "overlap"
}

// projected returns the parts of the item at the paths. Without paths it returns the whole item.
func projected(in attributes, paths []path) attributes {
	if len(paths) == 0 || in == nil {
		return in
	}
	root := &selection{}
	for _, p := range paths {
		root.add(p)
	}
	out, _ := root.apply(&types.AttributeValueMemberM{Value: in}).(*types.AttributeValueMemberM)
	if out == nil {
		return attributes{}
	}
	return out.Value
}

// selection is a set of paths as a tree; a leaf selects everything below it.
type selection struct {
	steps    []step
	children []*selection
}

func (s *selection) add(p path) {
	if len(p) == 0 {
		return
	}
	i := slices.Index(s.steps, p[0])
	if i < 0 {
		i = len(s.steps)
		s.steps = append(s.steps, p[0])
		s.children = append(s.children, &selection{})
	}
	s.children[i].add(p[1:])
}

func (s *selection) apply(v types.AttributeValue) types.AttributeValue {
	if len(s.steps) == 0 {
		return v
	}
	switch v.(type) {
	case *types.AttributeValueMemberM:
		return s.applyMap(v)
	case *types.AttributeValueMemberL:
		return s.applyList(v)
	}
	return nil
}

func (s *selection) applyMap(v types.AttributeValue) types.AttributeValue {
	out := attributes{}
	for i, st := range s.steps {
		if below := child(v, st); below != nil {
			if got := s.children[i].apply(below); got != nil {
				out[st.key] = got
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return &types.AttributeValueMemberM{Value: out}
}

func (s *selection) applyList(v types.AttributeValue) types.AttributeValue {
	order := make([]int, len(s.steps))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return s.steps[a].position - s.steps[b].position })
	var out []types.AttributeValue
	for _, i := range order {
		if below := child(v, s.steps[i]); below != nil {
			if got := s.children[i].apply(below); got != nil {
				out = append(out, got)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return &types.AttributeValueMemberL{Value: out}
}
