package model

import (
	"maps"
	"slices"
	"strings"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Check checks the model as a whole, before any object uses it: every name in its templates exists,
// and the template of the stack, rendered with sample values, has no problem that every object
// would have. The error is cfntemplate.Problems, with positions in the definition.
func (m *Model) Check(registry *schema.Registry) error {
	problems := m.checkNames()
	if m.ownTemplate {
		all, err := m.trials(registry)
		if err != nil {
			return err
		}
		if len(m.Outputs) == 0 && !slices.ContainsFunc(all, parsed) {
			// The outputs are not known, so that their names cannot be checked.
			problems = slices.DeleteFunc(problems, func(p cfntemplate.Problem) bool {
				return strings.HasPrefix(p.Message, "there is no .output")
			})
		}
		problems = append(problems, all.problems()...)
		problems = append(problems, m.checkOutputs(all)...)
	}
	problems = append(problems, m.checkAccess(registry)...)
	cfntemplate.SortProblems(problems)
	return problems.Err()
}

// checkOutputs reports the outputs of the definition that no stack has.
func (m *Model) checkOutputs(all trials) cfntemplate.Problems {
	if len(all) == 0 && len(m.Outputs) == 0 && strings.Contains(m.Template.source, "Outputs:") {
		return problem(m.Name, "spec.outputs",
			"the outputs cannot be derived, because the template cannot be executed with sample values; list the outputs")
	}
	names := slices.Sorted(maps.Keys(all.outputs()))
	if len(names) == 0 {
		return nil // the problems of the template say why
	}
	source := strings.ToLower(m.Template.source)
	var problems cfntemplate.Problems
	for _, o := range m.Outputs {
		same := func(name string) bool { return strings.EqualFold(name, o.From) }
		// A part that no sample renders may have the output.
		if slices.ContainsFunc(names, same) || strings.Contains(source, strings.ToLower(o.From)+":") {
			continue
		}
		p := problem(m.Name, "spec.outputs", "the template has no output "+o.From+" for "+o.Name)
		p[0].Suggestion = cfntemplate.Closest(o.From, names)
		problems = append(problems, p...)
	}
	return problems
}

// deriveFromTemplate returns the outputs of an own template as the outputs of the kind.
func (m *Model) deriveFromTemplate() ([]v1alpha1.ModelOutput, error) {
	all, err := m.trials(nil)
	if err != nil {
		return nil, err
	}
	found := all.outputs()
	var outputs []v1alpha1.ModelOutput
	for _, from := range slices.Sorted(maps.Keys(found)) {
		name := FieldName(from)
		if slices.ContainsFunc(outputs, func(o v1alpha1.ModelOutput) bool { return o.Name == name }) {
			name = from
		}
		outputs = append(outputs, v1alpha1.ModelOutput{Name: name, From: from, Description: found[from].Description})
	}
	return outputs, nil
}
