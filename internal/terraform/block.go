package terraform

import (
	"cmp"
	"slices"
	"strings"
)

// block is a block of a configuration.
type block struct {
	kind      string
	labels    []string
	arguments []member
	blocks    []*block
	// comment stands above it.
	comment string
}

// set gives an argument its value.
func (b *block) set(name string, value expression) {
	b.arguments = append(b.arguments, member{name, value})
}

// add adds a block and returns it.
func (b *block) add(kind string) *block {
	inner := &block{kind: kind}
	b.blocks = append(b.blocks, inner)
	return inner
}

// one returns the block of a kind of which there is at most one.
func (b *block) one(kind string) *block {
	if i := slices.IndexFunc(b.blocks, func(inner *block) bool { return inner.kind == kind }); i >= 0 {
		return b.blocks[i]
	}
	return b.add(kind)
}

// ranks are of the arguments and blocks that do not stand with the others: those that concern
// Terraform itself come last.
var ranks = map[string]int{"depends_on": 1, "lifecycle": 2} //nolint:mnd // an order

// write writes a block: its arguments by name, then its blocks by kind. Layout within lines is left
// to the formatter.
func (b *block) write(out *strings.Builder) {
	for line := range strings.Lines(b.comment) {
		out.WriteString("# " + line)
	}
	if b.comment != "" {
		out.WriteString("\n")
	}
	out.WriteString(b.kind)
	for _, label := range b.labels {
		out.WriteString(" " + quote(label))
	}
	parts := b.parts()
	if len(parts) == 0 {
		out.WriteString(" {}\n")
		return
	}
	out.WriteString(" {\n")
	for i, part := range parts {
		if i > 0 && (part.block != nil || part.rank > 0) {
			out.WriteString("\n")
		}
		if part.block != nil {
			part.block.write(out)
			continue
		}
		out.WriteString(part.name + " = " + part.value.String() + "\n")
	}
	out.WriteString("}\n")
}

// part is an argument or a block of a block.
type part struct {
	member
	block *block
	rank  int
}

// parts returns what is in a block, in order.
func (b *block) parts() []part {
	parts := make([]part, 0, len(b.arguments)+len(b.blocks))
	for _, a := range b.arguments {
		parts = append(parts, part{member: a, rank: ranks[a.name]})
	}
	for _, inner := range b.blocks {
		parts = append(parts, part{member: member{name: inner.kind}, block: inner, rank: ranks[inner.kind]})
	}
	isBlock := func(p part) int {
		if p.block != nil {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(isBlock(a), isBlock(b)), cmp.Compare(a.name, b.name))
	})
	return parts
}
