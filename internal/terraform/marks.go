package terraform

import (
	"regexp"
	"slices"
	"strings"
)

// An output of the base stack is known only after its creation. Until then, rendered text has a
// mark instead: a host name, so that it fits wherever the address of the API does, in a domain that
// is reserved (RFC 6761).
var markPattern = regexp.MustCompile(`tf-output-[a-z0-9]+\.invalid|` + AccountOfProvider)

// It is in lower case, as the address of the API is in what is rendered.
func markOf(output string) string { return "tf-output-" + strings.ToLower(output) + ".invalid" }

// meaning is what a mark stands for, and what that refers to.
type meaning struct {
	value  expression
	refers map[*made]bool
}

// learn gives the marks of the base stack's outputs their meaning.
func (m *module) learn(base *scope) error {
	for name := range base.stack.Template.Outputs {
		base.seen = map[*made]bool{}
		value, err := base.output(name)
		if err != nil {
			return err
		}
		m.marks[markOf(name)] = meaning{value, base.seen}
	}
	base.seen = nil
	return nil
}

// meaningOf returns what a mark stands for, and whether it is one.
func (m *module) meaningOf(mark string) (meaning, bool) {
	if mark == AccountOfProvider {
		return meaning{value: m.current("aws_caller_identity", "account_id")}, true
	}
	means, ok := m.marks[mark]
	return means, ok
}

// marked returns a text with what its marks stand for.
func (m *module) marked(of string) expression {
	var pieces []piece
	begin := 0
	for _, at := range markPattern.FindAllStringIndex(of, -1) {
		means, ok := m.meaningOf(of[at[0]:at[1]])
		if !ok {
			continue
		}
		pieces = append(pieces, piece{literal: of[begin:at[0]]})
		pieces = append(pieces, means.value.asPieces("value")...)
		begin = at[1]
		for to := range means.refers {
			m.refersTo(to)
		}
	}
	return joined(append(pieces, piece{literal: of[begin:]}))
}

// fill returns an expression for the contents of a file with what its marks stand for.
func (m *module) fill(contents expression, document string) expression {
	marks := markPattern.FindAllString(document, -1)
	slices.Sort(marks)
	for _, mark := range slices.Compact(marks) {
		if _, ok := m.meaningOf(mark); ok {
			contents = call("replace", contents, text(mark), m.marked(mark))
		}
	}
	return contents
}
