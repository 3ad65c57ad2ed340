package terraform

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// document makes a policy document a file of data: as it is if nothing in it is a reference,
// otherwise as a template.
func document(name string) rule {
	return func(t *target, n *template.Node) error {
		d := &documentWriter{scope: t.scope}
		if err := d.write(n, ""); err != nil {
			return err
		}
		file := t.file(strings.Join(t.block.labels, "."), name+".json")
		if len(d.variables) == 0 {
			t.module.files[file] = []byte(d.text(false))
			t.block.set(name, call("file", t.module.path(file)))
			return nil
		}
		t.module.files[file] = []byte(d.text(true))
		t.block.set(name, call("templatefile", t.module.path(file), object(d.variables)))
		return nil
	}
}

// file returns the path of a data file.
func (s *scope) file(of, name string) string { return s.module.folder + "/" + of + "." + name }

// path returns an expression for a data file's path.
func (m *module) path(file string) expression { return raw(`"${path.module}/` + file + `"`) }

// documentWriter writes JSON in which texts have references.
type documentWriter struct {
	*scope
	pieces    []piece
	variables []member
}

func (d *documentWriter) put(literal string) { d.pieces = append(d.pieces, piece{literal: literal}) }

// write writes a value. Members stand as they do in the template: a statement begins with its name.
func (d *documentWriter) write(n *template.Node, indent string) error {
	const step = "  "
	switch n.Kind {
	case template.Map:
		return d.many("{", "}", indent, len(n.Fields), func(i int) error {
			d.quote(d.module.marked(n.Fields[i].Key)) // keys of conditions name the issuer's bucket
			d.put(": ")
			return at("."+n.Fields[i].Key, d.write(n.Fields[i].Value, indent+step))
		})
	case template.List:
		return d.many("[", "]", indent, len(n.Items), func(i int) error { return d.write(n.Items[i], indent+step) })
	default:
	}
	value, err := d.value(n)
	if err != nil {
		return err
	}
	if n.Kind == template.Number || n.Kind == template.Bool {
		d.put(value.source)
		return nil
	}
	if len(value.pieces) == 0 {
		return fmt.Errorf("what %s gives cannot stand in a text", n.Func)
	}
	d.quote(value)
	return nil
}

// quote writes a text.
func (d *documentWriter) quote(text expression) {
	d.put(`"`)
	for _, p := range text.pieces {
		if p.source == "" {
			quoted := quoteJSON(p.literal)
			d.put(quoted[1 : len(quoted)-1])
			continue
		}
		p.variable = d.variable(p)
		d.pieces = append(d.pieces, p)
	}
	d.put(`"`)
}

// many writes a map or a list.
func (d *documentWriter) many(begin, end, indent string, number int, one func(int) error) error {
	d.put(begin)
	for i := range number {
		separator := ",\n"
		if i == 0 {
			separator = "\n"
		}
		d.put(separator + indent + "  ")
		if err := one(i); err != nil {
			return err
		}
	}
	if number > 0 {
		d.put("\n" + indent)
	}
	d.put(end)
	return nil
}

// variable returns what a reference is called in the file: each one by a name of its own.
func (d *documentWriter) variable(p piece) string {
	name := p.variable
	for n := 2; ; n++ {
		i := slices.IndexFunc(d.variables, func(m member) bool { return m.name == name })
		if i < 0 {
			d.variables = append(d.variables, member{name, raw(p.source)})
			return name
		}
		if d.variables[i].value.source == p.source {
			return name
		}
		name = p.variable + "_" + strconv.Itoa(n)
	}
}

// text returns what was written, as a template or as it is.
func (d *documentWriter) text(asTemplate bool) string {
	var out strings.Builder
	for _, p := range d.pieces {
		switch {
		case p.source != "":
			out.WriteString("${" + p.variable + "}")
		case asTemplate:
			out.WriteString(strings.NewReplacer("${", "$${", "%{", "%%{").Replace(p.literal))
		default:
			out.WriteString(p.literal)
		}
	}
	return out.String() + "\n"
}

func quoteJSON(s string) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		return `""` // A text always encodes.
	}
	return strings.TrimSuffix(out.String(), "\n")
}
