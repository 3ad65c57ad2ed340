package kops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// part is a map in a manifest of kops: a spec or a section of one. It keeps account of the fields
// that were translated, so that finish can speak of all others.
type part struct {
	t        *translation
	document yamltree.Document
	object   string
	path     string
	value    *yamltree.Value
	table    fields
	// open is whether kops may have fields that the table does not know.
	open bool
	used map[string]bool
}

// field marks a field as translated and returns its value, nil if it is not there or holds nothing.
func (p *part) field(name string) *yamltree.Value {
	p.used[name] = true
	v := p.value.Field(name)
	if v == nil || v.Kind == yamltree.Null {
		return nil
	}
	return v
}

// of returns a field if it is of the kind; another kind is a problem.
func (p *part) of(name string, kind yamltree.Kind) *yamltree.Value {
	v := p.field(name)
	if v != nil && v.Kind != kind {
		p.refuse(name, fmt.Sprintf("this is %s, but must be %s", v.Kind, kind))
		return nil
	}
	return v
}

func (p *part) text(name string) string {
	if v := p.of(name, yamltree.String); v != nil {
		return v.Text
	}
	return ""
}

// number returns an integer, or missing if there is none.
func (p *part) number(name string, missing int32) int32 {
	v := p.field(name)
	if v == nil {
		return missing
	}
	n, ok := v.Int()
	if !ok || n < 0 || n > 1<<30 {
		p.refuse(name, "write a whole number")
		return missing
	}
	return int32(n)
}

// truth returns a boolean, or missing if there is none.
func (p *part) truth(name string, missing bool) bool {
	v := p.field(name)
	if v == nil {
		return missing
	}
	truth, ok := v.Truth()
	if !ok {
		p.refuse(name, "write true or false")
		return missing
	}
	return truth
}

// texts returns the texts of a list.
func (p *part) texts(name string) []string {
	v := p.of(name, yamltree.List)
	if v == nil {
		return nil
	}
	var all []string
	for _, item := range v.Items {
		if item.Kind == yamltree.List || item.Kind == yamltree.Map {
			p.refuse(name, "this is a list of texts")
			return nil
		}
		all = append(all, item.Text)
	}
	return all
}

// labels returns a map of texts.
func (p *part) labels(name string) map[string]string {
	v := p.of(name, yamltree.Map)
	if v == nil || len(v.Entries) == 0 {
		return nil
	}
	all := map[string]string{}
	for _, entry := range v.Entries {
		if entry.Value.Kind == yamltree.List || entry.Value.Kind == yamltree.Map {
			p.refuse(name, "this is a map of texts")
			return nil
		}
		all[entry.Key] = entry.Value.Text
	}
	return all
}

// section returns a map below, nil if there is none.
func (p *part) section(name string, table fields) *part {
	v := p.of(name, yamltree.Map)
	if v == nil {
		return nil
	}
	return p.below(p.path+"."+name, v, table)
}

// sections returns the maps of a list.
func (p *part) sections(name string, table fields) []*part {
	v := p.of(name, yamltree.List)
	if v == nil {
		return nil
	}
	var all []*part
	for i, item := range v.Items {
		if item.Kind != yamltree.Map {
			p.refuse(name, "this is a list of maps")
			return nil
		}
		all = append(all, p.below(fmt.Sprintf("%s.%s[%d]", p.path, name, i), item, table))
	}
	return all
}

func (p *part) below(path string, v *yamltree.Value, table fields) *part {
	return &part{t: p.t, document: p.document, object: p.object, path: path, value: v, table: table, open: p.open, used: map[string]bool{}}
}

// note says that a field has no counterpart.
func (p *part) note(name string, severity Severity, why string) {
	path, line, value := p.at(name)
	p.t.notes = append(p.t.notes, Note{
		File: p.document.File, Document: p.document.Number, Line: line, Object: p.object,
		Path: path, Value: short(value), Why: why, Severity: severity,
	})
}

// refuse says that a field cannot be dropped, or cannot be.
func (p *part) refuse(name, why string) {
	p.used[name] = true
	path, line, value := p.at(name)
	message := why
	if text := short(value); text != "" {
		message = text + ": " + why
	}
	p.t.problems = append(p.t.problems, yamltree.Problem{
		File: p.document.File, Document: p.document.Number, Line: line, Path: path, Message: message,
	})
}

func (p *part) at(name string) (path string, line int, value *yamltree.Value) {
	path, line = p.path, p.document.Value.Line
	if p.value != nil {
		line = p.value.Line
	}
	if name == "" {
		return path, line, nil
	}
	value = p.value.Field(name)
	if value != nil {
		i := slices.IndexFunc(p.value.Entries, func(e yamltree.Entry) bool { return e.Key == name })
		line = p.value.Entries[i].Line
	}
	return path + "." + name, line, value
}

// short returns a value in a few words.
func short(v *yamltree.Value) string {
	const most = 60
	if v == nil {
		return ""
	}
	var text string
	switch v.Kind {
	case yamltree.Null, yamltree.Bool, yamltree.Number, yamltree.String:
		text = strings.Join(strings.Fields(v.Text), " ")
	case yamltree.List:
		items := make([]string, 0, len(v.Items))
		for _, item := range v.Items {
			items = append(items, short(item))
		}
		text = "[" + strings.Join(items, ", ") + "]"
	case yamltree.Map:
		entries := make([]string, 0, len(v.Entries))
		for _, entry := range v.Entries {
			entries = append(entries, entry.Key+": "+short(entry.Value))
		}
		text = "{" + strings.Join(entries, ", ") + "}"
	}
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most]) + "…"
	}
	return text
}

// empty reports whether a value says nothing.
func empty(v *yamltree.Value) bool {
	switch v.Kind {
	case yamltree.Null:
		return true
	case yamltree.String:
		return v.Text == ""
	case yamltree.List:
		return len(v.Items) == 0
	case yamltree.Map:
		return len(v.Entries) == 0
	case yamltree.Bool, yamltree.Number:
	}
	return false
}

// finish speaks of every field that was not translated: as the table says, or as one that kops does
// not have.
func (p *part) finish() {
	if p == nil {
		return
	}
	for _, entry := range p.value.Entries {
		if p.used[entry.Key] {
			continue
		}
		rule, known := p.table[entry.Key]
		switch {
		case !known:
			p.unknown(entry)
		case empty(entry.Value) || slices.Contains(rule.unless, entry.Value.Text):
		case rule.handling == refused:
			p.refuse(entry.Key, rule.why)
		case rule.handling == noted:
			p.note(entry.Key, rule.severity, rule.why)
		default:
			p.note(entry.Key, Warning, "it has no counterpart for groups of this role")
		}
	}
}

func (p *part) unknown(entry yamltree.Entry) {
	names := p.table.names()
	suggestion := template.Closest(entry.Key, names)
	if p.open && suggestion == "" {
		p.note(entry.Key, Warning, "it has no counterpart")
		return
	}
	p.t.problems = append(p.t.problems, yamltree.Problem{
		File: p.document.File, Document: p.document.Number, Line: entry.Line, Path: p.path + "." + entry.Key,
		Message: "kops has no such field", Suggestion: suggestion,
	})
}
