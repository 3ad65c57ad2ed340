package translation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/yamltree"
)

// Part is a map in a manifest: a spec or a section of one. It keeps account of the fields that were
// translated, so that Finish can speak of all others.
type Part struct {
	// Document is what it is in, Value its content.
	Document yamltree.Document
	Value    *yamltree.Value
	// Table has the rules of its fields.
	Table Fields
	// Open is whether the tool may have fields that the table does not know.
	Open bool

	report *Report
	object string
	path   string
	used   map[string]bool
}

// Use marks fields as translated.
func (p *Part) Use(names ...string) {
	for _, name := range names {
		p.used[name] = true
	}
}

// Used reports whether a field was translated.
func (p *Part) Used(name string) bool { return p.used[name] }

// Field marks a field as translated and returns its value, nil if it is not there or holds nothing.
func (p *Part) Field(name string) *yamltree.Value {
	p.used[name] = true
	v := p.Value.Field(name)
	if v == nil || v.Kind == yamltree.Null {
		return nil
	}
	return v
}

// Of returns a field if it is of the kind; another kind is a problem.
func (p *Part) Of(name string, kind yamltree.Kind) *yamltree.Value {
	v := p.Field(name)
	if v != nil && v.Kind != kind {
		p.Refuse(name, fmt.Sprintf("this is %s, but must be %s", v.Kind, kind))
		return nil
	}
	return v
}

// Text returns a text, empty if there is none.
func (p *Part) Text(name string) string {
	if v := p.Of(name, yamltree.String); v != nil {
		return v.Text
	}
	return ""
}

// Number returns an integer, or missing if there is none.
func (p *Part) Number(name string, missing int32) int32 {
	v := p.Field(name)
	if v == nil {
		return missing
	}
	n, ok := v.Int()
	if !ok || n < 0 || n > 1<<30 {
		p.Refuse(name, "write a whole number")
		return missing
	}
	return int32(n)
}

// Truth returns a boolean, or missing if there is none.
func (p *Part) Truth(name string, missing bool) bool {
	v := p.Field(name)
	if v == nil {
		return missing
	}
	truth, ok := v.Truth()
	if !ok {
		p.Refuse(name, "write true or false")
		return missing
	}
	return truth
}

// Texts returns the texts of a list.
func (p *Part) Texts(name string) []string {
	v := p.Of(name, yamltree.List)
	if v == nil {
		return nil
	}
	var all []string
	for _, item := range v.Items {
		if item.Kind == yamltree.List || item.Kind == yamltree.Map {
			p.Refuse(name, "this is a list of texts")
			return nil
		}
		all = append(all, item.Text)
	}
	return all
}

// Labels returns a map of texts.
func (p *Part) Labels(name string) map[string]string {
	v := p.Of(name, yamltree.Map)
	if v == nil || len(v.Entries) == 0 {
		return nil
	}
	all := map[string]string{}
	for _, entry := range v.Entries {
		if entry.Value.Kind == yamltree.List || entry.Value.Kind == yamltree.Map {
			p.Refuse(name, "this is a map of texts")
			return nil
		}
		all[entry.Key] = entry.Value.Text
	}
	return all
}

// Section returns a map below, nil if there is none.
func (p *Part) Section(name string, table Fields) *Part {
	v := p.Of(name, yamltree.Map)
	if v == nil {
		return nil
	}
	return p.below(p.join(name), v, table)
}

// Sections returns the maps of a list.
func (p *Part) Sections(name string, table Fields) []*Part {
	v := p.Of(name, yamltree.List)
	if v == nil {
		return nil
	}
	var all []*Part
	for i, item := range v.Items {
		if item.Kind != yamltree.Map {
			p.Refuse(name, "this is a list of maps")
			return nil
		}
		all = append(all, p.below(fmt.Sprintf("%s[%d]", p.join(name), i), item, table))
	}
	return all
}

func (p *Part) below(path string, v *yamltree.Value, table Fields) *Part {
	below := p.report.Part(p.Document, p.object, path, v, table)
	below.Open = p.Open
	return below
}

// join returns the path of a field.
func (p *Part) join(name string) string {
	if p.path == "" {
		return name
	}
	return p.path + "." + name
}

// Note says that a field has no counterpart.
func (p *Part) Note(name string, severity Severity, why string) {
	path, line, value := p.at(name)
	p.report.Notes = append(p.report.Notes, Note{
		File: p.Document.File, Document: p.Document.Number, Line: line, Object: p.object,
		Path: path, Value: short(value), Why: why, Severity: severity,
	})
}

// Refuse says that a field cannot be dropped, or cannot be.
func (p *Part) Refuse(name, why string) {
	p.used[name] = true
	path, line, value := p.at(name)
	message := why
	if text := short(value); text != "" {
		message = text + ": " + why
	}
	p.report.Problems = append(p.report.Problems, yamltree.Problem{
		File: p.Document.File, Document: p.Document.Number, Line: line, Path: path, Message: message,
	})
}

func (p *Part) at(name string) (path string, line int, value *yamltree.Value) {
	path, line = p.path, p.Document.Value.Line
	if p.Value != nil {
		line = p.Value.Line
	}
	if name == "" {
		return path, line, nil
	}
	value = p.Value.Field(name)
	if value != nil {
		i := slices.IndexFunc(p.Value.Entries, func(e yamltree.Entry) bool { return e.Key == name })
		line = p.Value.Entries[i].Line
	}
	return p.join(name), line, value
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

// Empty reports whether a value says nothing.
func Empty(v *yamltree.Value) bool {
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

// Finish speaks of every field that was not translated: as the table says, or as one that the tool does
// not have.
func (p *Part) Finish() {
	if p == nil {
		return
	}
	for _, entry := range p.Value.Entries {
		if p.used[entry.Key] {
			continue
		}
		rule, known := p.Table[entry.Key]
		switch {
		case !known:
			p.unknown(entry)
		case Empty(entry.Value) || slices.Contains(rule.Unless, entry.Value.Text):
		case rule.Handling == Refused:
			p.Refuse(entry.Key, rule.Why)
		case rule.Handling == Noted:
			p.Note(entry.Key, rule.Severity, rule.Why)
		default:
			p.Note(entry.Key, Warning, "it has no counterpart for groups of this role")
		}
	}
}

func (p *Part) unknown(entry yamltree.Entry) {
	names := p.Table.names()
	suggestion := template.Closest(entry.Key, names)
	if p.Open && suggestion == "" {
		p.Note(entry.Key, Warning, "it has no counterpart")
		return
	}
	p.report.Problems = append(p.report.Problems, yamltree.Problem{
		File: p.Document.File, Document: p.Document.Number, Line: entry.Line, Path: p.join(entry.Key),
		Message: p.report.Tool + " has no such field", Suggestion: suggestion,
	})
}
