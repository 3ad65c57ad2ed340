package plan

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap"
)

// mostShown is the maximum number of characters of a value on a line.
const mostShown = 120

func (o *printer) property(p *Property) {
	why := ""
	switch {
	case p.Forces:
		why = " (forces replacement)"
	case p.MayForce:
		why = " (may force replacement)"
	}
	if p.Cause != "" {
		o.line("      %s: follows %s%s", p.Path, p.Cause, why)
		return
	}
	if removed, added, ok := elements(p.Old, p.New); ok {
		o.line("      %s:%s", p.Path, why)
		for _, one := range removed {
			o.line("        %s", o.paint(red, "- "+shown(one)))
		}
		for _, one := range added {
			o.line("        %s", o.paint(green, "+ "+shown(one)))
		}
		return
	}
	if changed, ok := bootChange(p.Old, p.New); ok {
		if len(p.Parts) > 0 {
			changed = fmt.Sprintf("%s (%s)", strings.Join(p.Parts, ", "), changed)
		}
		o.line("      %s: %s%s", p.Path, changed, why)
		return
	}
	o.line("      %s: %s → %s%s", p.Path, shown(p.Old), shown(p.New), why)
}

// elements returns the elements that are only in one of two lists; false if the values are not two
// lists that differ in elements.
func elements(old, now *template.Node) (removed, added []*template.Node, ok bool) {
	if old == nil || now == nil || old.Kind != template.List || now.Kind != template.List {
		return nil, nil, false
	}
	without := func(of, other []*template.Node) []*template.Node {
		return slices.DeleteFunc(slices.Clone(of), func(one *template.Node) bool {
			return slices.ContainsFunc(other, func(n *template.Node) bool { return template.Equal(one, n) })
		})
	}
	removed, added = without(old.Items, now.Items), without(now.Items, old.Items)
	return removed, added, len(removed)+len(added) > 0
}

// bootChange describes how the user data of instances changes; false for other values.
func bootChange(old, now *template.Node) (string, bool) {
	before, okBefore := scriptOf(old)
	after, okAfter := scriptOf(now)
	if !okBefore || !okAfter {
		return "", false
	}
	var said []string
	for _, one := range []struct{ what, old, now string }{
		{"bundle", before.BundleSHA256, after.BundleSHA256},
		{"nodeup", before.NodeupSHA256, after.NodeupSHA256},
	} {
		if one.old != one.now {
			const enough = 12 // enough characters of a hash to distinguish two
			said = append(said, fmt.Sprintf("%s %s → %s", one.what, one.old[:enough], one.now[:enough]))
		}
	}
	return strings.Join(said, ", "), len(said) > 0
}

func scriptOf(n *template.Node) (bootstrap.UserDataInput, bool) {
	if n == nil || n.Kind != template.Intrinsic || n.Func != "Fn::Base64" || n.Arg == nil {
		return bootstrap.UserDataInput{}, false
	}
	in, err := bootstrap.ParseUserData(n.Arg.Text)
	return in, err == nil
}

// shown returns a value on one line.
func shown(n *template.Node) string {
	if n == nil {
		return "(none)"
	}
	text := string(n.AppendJSON(nil))
	if utf8.RuneCountInString(text) > mostShown {
		text = string([]rune(text)[:mostShown]) + "…"
	}
	return text
}

// quoted returns a quoted text, or "none".
func quoted(text string) string {
	if text == "" {
		return "(none)"
	}
	return `"` + text + `"`
}
