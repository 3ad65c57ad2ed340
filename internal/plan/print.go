package plan

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/price"
	"github.com/aws-operator/aws-operator/internal/quota"
)

// style is how an action is printed: with a mark, a verb and a color.
type style struct{ mark, verb, colour string }

var styles = map[Action]style{
	Create:     {"+", "create", green},
	Update:     {"~", "update in place", yellow},
	MayReplace: {"?", "update, or replace", magenta},
	Replace:    {"!", "replace", red},
	Delete:     {"-", "delete", red},
	Import:     {"=", "import", green},
}

// Escape sequences of terminals:
// https://www.ecma-international.org/publications-and-standards/standards/ecma-48/ (SGR).
const (
	bold    = "1"
	dim     = "2"
	red     = "31"
	green   = "32"
	yellow  = "33"
	magenta = "35"
)

// printer writes a plan.
type printer struct {
	w      bytes.Buffer
	colour bool
}

// Print prints a plan. With colour, it uses escape sequences of terminals.
func Print(w io.Writer, p *Plan, colour bool) error {
	out := &printer{colour: colour}
	out.line("%s", out.paint(bold, p.Title()))
	var same []string
	for i := range p.Stacks {
		if s := &p.Stacks[i]; s.Action == None {
			same = append(same, s.Name)
		} else {
			out.stack(s)
		}
	}
	if len(same) > 0 && !p.Empty() {
		out.line("\n%s", out.paint(dim, "Without changes: "+strings.Join(same, ", ")+"."))
	}
	out.rolls(p)
	out.drift(p)
	out.price(p.Price)
	out.quotas(p.Quotas)
	if len(p.Notes) > 0 {
		out.line("\nNotes:")
	}
	for _, note := range p.Notes {
		out.line("  * %s", note)
	}
	out.line("\n%s", out.paint(bold, p.Sentence()))
	_, err := w.Write(out.w.Bytes())
	return err //nolint:wrapcheck // the caller's own writer
}

// Title returns the title of the plan.
func (p *Plan) Title() string {
	if p.Name == "" {
		return "Services"
	}
	return "Cluster " + p.Name
}

func (o *printer) line(format string, args ...any) { fmt.Fprintf(&o.w, format+"\n", args...) }

func (o *printer) paint(colour, text string) string {
	if !o.colour || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// title describes the part of a stack.
func (s *Stack) title() string {
	switch s.Part {
	case Base:
		return "resources that all nodes share"
	case Slot:
		return "slot " + s.Of + " of the control plane"
	case Group:
		return "instance group " + s.Of
	case EKSAddons:
		return "add-ons of EKS"
	case Service:
		return s.Of
	}
	return ""
}

func (o *printer) stack(s *Stack) {
	as := styles[s.Action]
	o.line(
		"\n%s",
		o.paint(as.colour, fmt.Sprintf("%s stack %s (%s): %s", as.mark, s.Name, s.title(), strings.TrimSuffix(as.verb, " in place"))),
	)
	resources, others := s.abridge()
	for i := range resources {
		o.resource(&resources[i])
	}
	if others != "" {
		o.line("  %s", o.paint(as.colour, as.mark+" "+others))
	}
	for _, tag := range s.Tags {
		o.line("  ~ tag %s of the stack and its taggable resources: %s → %s", tag.Name, quoted(tag.Old), quoted(tag.New))
	}
	for _, one := range []struct {
		what  string
		names []string
	}{{"Parameters", s.Parameters}, {"Outputs", s.Outputs}, {"Other parts of the template", s.Sections}} {
		if len(one.names) > 0 && s.Action == Update {
			o.line("  %s that change: %s", one.what, strings.Join(one.names, ", "))
		}
	}
	for _, refused := range s.Refused {
		o.line("  %s", o.paint(red, "Refused: "+refused))
	}
	if s.Asked && len(s.Differences) == 0 {
		o.line("  CloudFormation's change set confirms this.")
	}
	for _, difference := range s.Differences {
		o.line("  %s", o.paint(magenta, "CloudFormation's change set differs: "+difference))
	}
}

func (o *printer) resource(r *Resource) {
	as := styles[r.Action]
	text := fmt.Sprintf("%s %s (%s): %s", as.mark, r.LogicalID, r.Type, as.verb)
	if forced := r.forcedBy(); len(forced) > 0 {
		text += ", forced by " + strings.Join(forced, ", ")
	}
	if r.Size != "" {
		text += ", " + r.Size
	}
	if r.Rolls {
		text += ", and replace its instances"
	}
	if r.Action == Import {
		text += " " + r.Identifier
		if len(r.Properties) > 0 {
			text += ", then update in place, which waits for approval"
		}
	}
	if r.Stateful && r.OldResource != "" {
		text += "; it holds data"
	}
	switch {
	case r.OldResource == "Retain":
		text += "; the old one is kept"
	case r.OldResource == "Snapshot":
		text += "; a snapshot of the old one is kept"
	case r.OldResource != "" && r.Action != Delete:
		text += "; the old one is deleted"
	}
	o.line("  %s", o.paint(as.colour, text))
	for i := range r.Properties {
		o.property(&r.Properties[i])
	}
}

// forcedBy lists the properties that force, or may force, the replacement of a resource.
func (r *Resource) forcedBy() []string {
	var names []string
	for _, p := range r.Properties {
		if p.Forces || p.MayForce && r.Action == MayReplace {
			names = append(names, p.Path)
		}
	}
	return names
}

// rolls prints the instances that are replaced.
func (o *printer) rolls(p *Plan) {
	if len(p.Rolls) == 0 {
		return
	}
	o.line("\nReplaced instances:")
	for i := range p.Rolls {
		o.line("  %s", p.Rolls[i].Sentence())
	}
}

// quotas prints whether the quotas suffice.
func (o *printer) quotas(r *quota.Report) {
	if r == nil {
		return
	}
	o.line("")
	for _, line := range r.Text() {
		if strings.HasPrefix(line, "  "+quota.MarkExceeded) {
			line = o.paint(red, line)
		}
		o.line("%s", line)
	}
}

// price prints what the changes cost.
func (o *printer) price(c *price.Comparison) {
	if c == nil {
		return
	}
	o.line("")
	for _, line := range c.Text() {
		o.line("%s", line)
	}
}

// Sentence describes in one or two sentences which instances are replaced, how, and how long it
// takes.
func (r *Roll) Sentence() string {
	var text string
	switch {
	case r.What == RollControlPlane && r.Machines == 1:
		text = fmt.Sprintf("Control plane: the instance of %s, by %s", r.Order[0], r.By)
	case r.What == RollControlPlane:
		text = fmt.Sprintf("Control plane: the instances of %s, one at a time, by %s", strings.Join(r.Order, ", "), r.By)
	case r.Machines == 0:
		return fmt.Sprintf("Instance group %s: none, since it has none.", r.Name)
	default:
		upTo := ""
		if r.UpTo {
			upTo = "up to "
		}
		text = fmt.Sprintf(
			"Instance group %s: %s%s, %d at a time, by %s", r.Name, upTo, number(r.Machines, "node", "nodes"), r.BatchSize, r.By,
		)
	}
	if r.After {
		text += ", after the control plane's"
	}
	if r.UpTo {
		text += "; " + r.Assumes
	} else {
		text += fmt.Sprintf("; at least %s (if %s)", r.AtLeast, r.Assumes)
	}
	if r.AtMost > 0 {
		text += fmt.Sprintf(", at most %s", r.AtMost)
	}
	return text + "."
}

// Sentence summarizes the plan in one line.
func (p *Plan) Sentence() string {
	if p.Terraform {
		return fmt.Sprintf("Terraform made this cluster. To see what would change, run "+
			"aws-operator update cluster %s --target terraform --out DIR, then terraform plan.", p.Name)
	}
	s := p.Summary
	if p.Empty() {
		return "No changes." + s.Drift.sentence()
	}
	var parts []string
	for _, one := range []struct {
		count int
		verb  string
	}{
		{s.Import, "import"},
		{s.Create, "create"},
		{s.Update, "update in place"},
		{s.MayReplace, "update or replace"},
		{s.Replace, "replace"},
		{s.Delete, "delete"},
	} {
		if one.count > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", one.count, one.verb))
		}
	}
	if len(parts) == 0 {
		parts = []string{"no resource changes"}
	}
	text := fmt.Sprintf("Plan: %s, in %s.", strings.Join(parts, ", "), number(s.Stacks, "stack", "stacks"))
	if s.Import > 0 && s.Create+s.Update+s.MayReplace+s.Replace+s.Delete == 0 {
		text += " No resource changes."
	}
	switch upTo := slices.ContainsFunc(p.Rolls, func(r Roll) bool { return r.UpTo }); {
	case s.Roll > 0 && upTo:
		text += fmt.Sprintf(" Up to %s replaced.", number(s.Roll, "instance is", "instances are"))
	case s.Roll > 0:
		text += fmt.Sprintf(" %s replaced, in at least %s.", number(s.Roll, "instance is", "instances are"), p.Takes)
	}
	return text + s.Drift.sentence()
}

// sentence says how many stacks differ from their templates; it is empty without checks.
func (s *DriftSummary) sentence() string {
	if s == nil || s.Checked == 0 {
		return ""
	}
	return fmt.Sprintf(" %d of %s drifted.", s.Drifted, number(s.Checked, "deployed stack", "deployed stacks"))
}

func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
