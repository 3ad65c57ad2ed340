package diff

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// verbs are the actions as they appear in the summary.
var verbs = []struct {
	action       Action
	mark, phrase string
}{
	{Add, "+", "add"},
	{Update, "~", "update"},
	{MayReplace, "?", "perhaps replace"},
	{Replace, "!", "replace"},
	{Remove, "-", "remove"},
}

// String returns the plan as text: a summary, then each resource with the properties that change
// and their effect.
func (p *Plan) String() string {
	if p.Empty() {
		return "No changes.\n"
	}
	var w strings.Builder
	w.WriteString(p.summary())
	for i := range p.Changes {
		w.WriteString("\n")
		p.Changes[i].write(&w)
	}
	for _, line := range p.others() {
		w.WriteString("\n" + line + "\n")
	}
	return w.String()
}

func (p *Plan) summary() string {
	var parts []string
	for _, verb := range verbs {
		if count := p.Count(verb.action); count > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", count, verb.phrase))
		}
	}
	if len(parts) == 0 {
		return "No resource changes.\n"
	}
	return "Resources: " + strings.Join(parts, ", ") + ".\n"
}

func (p *Plan) others() []string {
	var lines []string
	for _, one := range []struct {
		what  string
		names []string
	}{
		{"Parameters that change: ", p.ParametersChanged},
		{"Outputs that change: ", p.Outputs},
		{"Other parts of the template that change: ", p.SectionsChanged},
	} {
		if len(one.names) > 0 {
			lines = append(lines, one.what+strings.Join(one.names, ", ")+".")
		}
	}
	if p.TagsChanged {
		lines = append(lines, "The stack's tags change, and with them the tags of every resource that can be tagged.")
	}
	return lines
}

func (c *Change) write(w *strings.Builder) {
	for _, verb := range verbs {
		if verb.action == c.Action {
			fmt.Fprintf(w, "%s %s %s (%s)", verb.mark, verb.phrase, c.LogicalID, c.Type)
		}
	}
	for _, note := range c.notes() {
		w.WriteString("; " + note)
	}
	w.WriteString("\n")
	for _, property := range c.Properties {
		property.write(w)
	}
}

// notes returns further facts about a change.
func (c *Change) notes() []string {
	var notes []string
	if c.OldType != "" {
		notes = append(notes, "it was of type "+c.OldType)
	}
	if c.OldResource == "" {
		return notes
	}
	if c.Stateful {
		notes = append(notes, "it holds data")
	}
	switch c.OldResource {
	case "Retain":
		notes = append(notes, "the old one is kept")
	case "Snapshot":
		notes = append(notes, "a snapshot is taken of the old one")
	default:
		notes = append(notes, "the old one is deleted")
	}
	return notes
}

func (p *PropertyChange) write(w *strings.Builder) {
	if p.Cause != "" {
		fmt.Fprintf(w, "    %s: refers to %s, which is replaced", p.Path, p.Cause)
	} else {
		fmt.Fprintf(w, "    %s: %s -> %s", p.Path, Show(p.Old), Show(p.New))
	}
	switch {
	case p.ForcesReplacement:
		w.WriteString(" (forces replacement)")
	case p.MayReplace:
		w.WriteString(" (may replace the resource)")
	}
	w.WriteString("\n")
}

// Show formats a value on one line.
func Show(n *template.Node) string {
	if n == nil {
		return "(none)"
	}
	text := string(n.AppendJSON(nil))
	const most = 200
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "…"
	}
	return text
}
