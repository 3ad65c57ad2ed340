package model

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"

	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Marks in the result of a marked template, which no YAML may contain. Each is followed by an
// offset in the source and a semicolon.
const (
	textMark  = "\ufdd0"
	valueMark = "\ufdd1"
)

// marked is the template of a stack that marks in its result where each part comes from.
type marked struct {
	file, source string
	tmpl         *template.Template
	// printed are the expressions that print a value, by offset in the source.
	printed map[int]string
}

// mark compiles the template of a stack once more.
func mark(t *Text) (*marked, error) {
	m := &marked{
		file: t.tmpl.Name(), printed: map[int]string{},
		source: strings.NewReplacer(textMark, "\ufffd", valueMark, "\ufffd").Replace(t.source),
	}
	functions := functions(func(any) (map[string]any, error) { return map[string]any{}, nil })
	functions["printYAML"] = func(offset string, value any) (string, error) {
		if value == nil {
			value = anything
		}
		quoted, err := quoteYAML(value)
		return valueMark + offset + ";" + quoted, err
	}
	tmpl, err := template.New(m.file).Funcs(functions).Parse(m.source)
	if err != nil {
		return nil, syntaxProblem(m.file, err)
	}
	for _, each := range tmpl.Templates() {
		eachNode(each.Root, func(n *parse.TextNode) {
			n.Text = slices.Concat([]byte(textMark+strconv.Itoa(int(n.Pos))+";"), n.Text)
		}, func(n *parse.ActionNode) {
			m.printed[int(n.Pos)] = "{{ " + n.Pipe.String() + " }}"
			printBy(n, "printYAML", strconv.Itoa(int(n.Pos)))
		})
	}
	m.tmpl = tmpl
	return m, nil
}

// part is a part of a rendered template that comes from one place in the source.
type part struct {
	// rendered and source are where it begins.
	rendered, source int
	// value means that it is a value of the object, and not text of the template.
	value bool
}

// rendered is a rendered template.
type rendered struct {
	from *marked
	text string
	// lines are the offsets of the lines.
	lines []int
	// parts are in the order of the text; the first begins with it.
	parts []part
}

// render renders the template with data.
func (m *marked) render(data map[string]any) (*rendered, error) {
	var out bytes.Buffer
	if err := m.tmpl.Execute(&out, data); err != nil {
		return nil, fmt.Errorf("render a sample: %w", err)
	}
	r := &rendered{from: m, parts: []part{{}}}
	var text strings.Builder
	rest := out.String()
	for {
		at := strings.IndexAny(rest, textMark+valueMark)
		if at < 0 {
			text.WriteString(rest)
			r.finish(text.String())
			return r, nil
		}
		text.WriteString(rest[:at])
		offset, after, _ := strings.Cut(rest[at+len(textMark):], ";")
		source, err := strconv.Atoi(offset)
		if err != nil {
			return nil, fmt.Errorf("read a mark: %w", err)
		}
		r.parts = append(r.parts, part{rendered: text.Len(), source: source, value: strings.HasPrefix(rest[at:], valueMark)})
		rest = after
	}
}

func (r *rendered) finish(text string) {
	r.text, r.lines = text, []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			r.lines = append(r.lines, i+1)
		}
	}
}

// offset returns the offset of a position in the text.
func (r *rendered) offset(pos cfntemplate.Position) int {
	offset := r.lines[max(min(pos.Line, len(r.lines)), 1)-1]
	for range max(pos.Column, 1) - 1 {
		_, size := utf8.DecodeRuneInString(r.text[offset:])
		offset += size
	}
	return offset
}

// at returns the part that contains an offset.
func (r *rendered) at(offset int) part {
	next := sort.Search(len(r.parts), func(i int) bool { return r.parts[i].rendered > offset })
	return r.parts[next-1]
}

// position returns where in the source a part of the text comes from.
func (r *rendered) position(offset int) cfntemplate.Position {
	p := r.at(offset)
	source := p.source
	if !p.value {
		source += offset - p.rendered
	}
	return positionAt(r.from.file, r.from.source, source)
}
