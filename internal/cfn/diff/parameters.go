package diff

import "github.com/aws-operator/aws-operator/internal/cfn/template"

// Hidden is what CloudFormation returns for the value of a NoEcho parameter.
const Hidden = "****"

// values returns the effective parameter values of both sides, with secrets hidden but different if
// they differ.
func values(deployed, desired Side) (before, after map[string]string) {
	before, after = effective(deployed), effective(desired)
	for name := range after {
		if !secret(deployed.Template, name) && !secret(desired.Template, name) {
			continue
		}
		old, existed := before[name]
		switch {
		case existed && old == after[name]:
			after[name] = Hidden
		case existed && old == Hidden:
			after[name] = MaybeNewSecret
		default:
			after[name] = NewSecret
		}
		if existed {
			before[name] = Hidden
		}
	}
	for name := range before {
		if secret(deployed.Template, name) {
			before[name] = Hidden
		}
	}
	return before, after
}

// Placeholders for secrets in a plan.
const (
	// NewSecret replaces a secret that differs from the deployed one.
	NewSecret = "**** (new value)" //nolint:gosec // a placeholder, not a secret
	// MaybeNewSecret replaces a secret where CloudFormation hides the deployed one.
	MaybeNewSecret = "**** (perhaps a new value)"
)

func secret(t *template.Template, name string) bool {
	return t != nil && t.Parameters[name] != nil && t.Parameters[name].NoEcho
}

// effective returns a side's parameter values including defaults.
func effective(side Side) map[string]string {
	all := map[string]string{}
	if side.Template == nil {
		return all
	}
	for name, parameter := range side.Template.Parameters {
		if value, ok := side.Parameters[name]; ok {
			all[name] = value
		} else if value, ok := parameter.Default.Scalar(); ok {
			all[name] = value
		}
	}
	return all
}
