package model

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
)

// trial is the template of a stack, rendered with one sample.
type trial struct {
	*rendered

	// template is nil if the text is not a template.
	template *cfntemplate.Template
	findings []finding
	// executed are the offsets in the source of the parts that were rendered.
	executed map[int]bool
}

// parsed reports whether the text is a template.
func parsed(one trial) bool { return one.template != nil }

// finding is a problem of a trial, with its position in the source.
type finding struct {
	cfntemplate.Problem

	// part is the offset in the source of the part that has the problem.
	part int
	// syntax means that the text is not a template because of it.
	syntax bool
	// certain means that every object has the problem that sets the value.
	certain bool
}

type trials []trial

// trials renders the template with every sample and checks the results, unless the registry is nil.
// It omits samples with which the template cannot be executed: a function may need a value that a
// sample does not have.
func (m *Model) trials(registry *schema.Registry) (trials, error) {
	marked, err := mark(m.Template)
	if err != nil {
		return nil, err
	}
	var all trials
	for _, data := range m.sampleData() {
		r, err := marked.render(data)
		if err != nil {
			continue
		}
		one := trial{rendered: r, executed: map[int]bool{}}
		for _, p := range r.parts {
			one.executed[p.source] = true
		}
		one.check(registry)
		all = append(all, one)
	}
	return all, nil
}

// sampleData returns the values of the samples: fewer for a big template, which takes time to
// parse.
func (m *Model) sampleData() []map[string]any {
	used := m.stackScope().names(m.Template).used
	data := func(s sample, without string) map[string]any {
		return map[string]any{
			"name": sampleWord + "Name", "namespace": "default", "kind": m.Kind, "spec": s.spec(m.Schema),
			"references": m.sampleReferences(used, without), "siblings": map[string]any{},
			"region": "us-east-1", "accountID": "123456789012", "partition": "aws", "dnsSuffix": "amazonaws.com",
			"clusterName": "aws-operator", "role": sampleRole(),
		}
	}
	all := []map[string]any{data(sample{all: true}, "")}
	for _, r := range m.References {
		all = append(all, data(sample{all: true}, r.Name))
	}
	for _, s := range samples(m.Schema)[1:] {
		all = append(all, data(s, ""))
	}
	const characters, least = 4_000_000, 8
	return all[:min(len(all), max(least, characters/(len(m.Template.source)+1)))]
}

// sampleRole is the role of an object.
func sampleRole() map[string]any {
	return map[string]any{"name": sampleWord + "Role", "arn": "arn:aws:iam::123456789012:role/" + sampleWord + "Role"}
}

// sampleReferences returns the referenced objects, except for one, with the outputs that the
// template uses.
func (m *Model) sampleReferences(used [][]string, without string) map[string]any {
	all := map[string]any{}
	for _, r := range m.References {
		if r.Name == without {
			continue
		}
		outputs := map[string]any{"name": sampleWord + "Name"}
		for _, path := range used {
			if len(path) == 3 && path[0] == "references" && path[1] == r.Name && path[2] != "name" {
				outputs[path[2]] = anything
			}
		}
		all[r.Name] = outputs
	}
	return all
}

// check finds the problems of the rendered text.
func (one *trial) check(registry *schema.Registry) {
	t, err := cfntemplate.Parse("", []byte(one.text))
	if problems, ok := errors.AsType[cfntemplate.Problems](err); ok {
		one.misplaced(nil)
		one.add(problems, true)
		return
	}
	if one.template = t; err != nil || registry == nil {
		return
	}
	if root, err := cfntemplate.ParseNode("", []byte(one.text)); err == nil {
		one.misplaced(root)
	}
	one.add(t.Check(), false)
	one.hideValues()
	one.add(registry.Validate(t), false)
}

// add adds problems that the values of the sample do not cause.
func (one *trial) add(problems cfntemplate.Problems, syntax bool) {
	for _, p := range problems {
		offset := one.offset(p.Pos)
		at := one.at(offset)
		if strings.Contains(p.Message, sampleWord) {
			continue
		}
		if at.value && !one.certain(at, p.Message) {
			continue
		}
		p.Message = strings.ReplaceAll(p.Message, "Ref {{", "{{") // see hideValues
		p.Pos = one.position(offset)
		one.findings = append(one.findings, finding{Problem: p, part: at.source, syntax: syntax, certain: at.value})
	}
}

// certain reports whether a problem of a value is one of all its values: a property that does not
// exist, or a list or map where there must be none, or the opposite.
func (one *trial) certain(value part, message string) bool {
	if strings.HasPrefix(one.text[value.rendered:], strconv.Quote(string(anything))) {
		return false
	}
	return slices.ContainsFunc([]string{" has no property ", " must be a list", " must be a map", " not a list", " not a map"},
		func(sign string) bool { return strings.Contains(message, sign) })
}

// hideValues replaces the values of the sample by calls of functions whose result is not known, or
// known to be a scalar: the schemas are checked for all values and not for those of the sample.
func (one *trial) hideValues() {
	hide := func(n *cfntemplate.Node) bool {
		at := one.at(one.offset(n.Pos))
		if !at.value || !n.IsScalar() {
			return true
		}
		hidden := cfntemplate.NewRef(one.from.printed[at.source])
		if n.Text == string(anything) {
			hidden = &cfntemplate.Node{Kind: cfntemplate.Intrinsic, Func: "Fn::FindInMap"}
		}
		hidden.Pos = n.Pos
		*n = *hidden
		return false
	}
	for _, r := range one.template.Resources {
		for _, n := range []*cfntemplate.Node{r.Properties, r.Metadata, r.CreationPolicy, r.UpdatePolicy} {
			n.Walk(hide)
		}
	}
	for _, o := range one.template.Outputs {
		o.Value.Walk(hide)
	}
}

// outputs returns the outputs of all samples.
func (all trials) outputs() map[string]*cfntemplate.Output {
	found := map[string]*cfntemplate.Output{}
	for _, one := range all {
		if one.template != nil {
			maps.Copy(found, one.template.Outputs)
		}
	}
	return found
}

// problems returns the problems that every sample has that renders the part with the problem. Other
// problems depend on values of the spec.
func (all trials) problems() cfntemplate.Problems {
	var found cfntemplate.Problems
	report := func(f finding) {
		same := func(p cfntemplate.Problem) bool { return p.Pos == f.Pos && p.Message == f.Message }
		if !slices.ContainsFunc(found, same) {
			found = append(found, f.Problem)
		}
	}
	for _, one := range all {
		for _, f := range one.findings {
			if f.certain || all.always(f) {
				report(f)
			}
		}
	}
	if len(found) == 0 && len(all) > 0 && !slices.ContainsFunc(all, parsed) {
		for _, f := range all[0].findings {
			report(f)
		}
	}
	return found
}

func (all trials) always(f finding) bool {
	same := func(other finding) bool { return other.Pos == f.Pos && other.Message == f.Message }
	return !slices.ContainsFunc(all, func(one trial) bool {
		return one.executed[f.part] && (f.syntax || one.template != nil) && !slices.ContainsFunc(one.findings, same)
	})
}

// misplaced finds values of the spec that are only a part of a YAML value. They are quoted, so that
// the text is garbled. Root is nil if the text is not YAML.
func (one *trial) misplaced(root *cfntemplate.Node) {
	for i, p := range one.parts {
		end := len(one.text)
		if i+1 < len(one.parts) {
			end = one.parts[i+1].rendered
		}
		if !p.value || !strings.HasPrefix(one.text[p.rendered:end], `"`) {
			continue
		}
		inside := glued(one.text[:p.rendered], one.text[end:])
		if root != nil {
			inside = one.insideText(root, p.rendered)
		}
		if inside {
			one.findings = append(one.findings, finding{
				Problem: cfntemplate.Problem{
					Pos: one.position(p.rendered),
					Message: one.from.printed[p.source] + " must be a whole value of the YAML, because it is quoted; " +
						"to join it with a text, write for example {{ printf \"%s-logs\" .name }} without quotes around it",
				},
				part: p.source, syntax: root == nil,
			})
		}
	}
}

// glued reports whether a value between two texts touches quotes or words.
func glued(before, after string) bool {
	const word = `"'-_./%+*@` + "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return before != "" && strings.ContainsRune(word, rune(before[len(before)-1])) ||
		after != "" && strings.ContainsRune(word, rune(after[0]))
}

// insideText reports whether a value is a part of a text that begins before it on the same line.
// Texts of several lines are code or documents, in which a quoted value may be right.
func (one *trial) insideText(root *cfntemplate.Node, value int) bool {
	inside, nearest := false, -1
	see := func(pos cfntemplate.Position, text bool) {
		start := one.offset(pos)
		if start > nearest && start <= value && !strings.Contains(one.text[start:value], "\n") {
			nearest, inside = start, text && start < value
		}
	}
	root.Walk(func(n *cfntemplate.Node) bool {
		see(n.Pos, n.Kind == cfntemplate.String && strings.Contains(n.Text, `"`))
		for _, field := range n.Fields {
			see(field.KeyPos, false)
		}
		return true
	})
	return inside
}
