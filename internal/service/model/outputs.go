package model

import (
	"maps"
	"slices"

	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
)

// OutputsThatRead returns the outputs of a rendered template that read an attribute of a resource by
// Fn::GetAtt, sorted. It names the fields of the kind's output, and outputs without a field as in
// the template.
func (m *Model) OutputsThatRead(t *cfntemplate.Template, attribute string) []string {
	reads := func(r cfntemplate.Reference) bool { return r.Attribute == attribute }
	var names []string
	for _, name := range slices.Sorted(maps.Keys(t.Outputs)) {
		value := t.Outputs[name].Value
		if value == nil || !slices.ContainsFunc(value.References(), reads) {
			continue
		}
		if i := slices.IndexFunc(m.Outputs, func(o Output) bool { return o.From == name }); i >= 0 {
			name = m.Outputs[i].Name
		}
		names = append(names, name)
	}
	return names
}
