package render

import (
	"strings"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// Outputs returns an object's output from the outputs of its stack. It matches names
// case-insensitively, because user templates spell TableARN and TableArn, and omits what the stack
// does not have.
func Outputs(m *model.Model, stack map[string]string) map[string]v1alpha1.Value {
	byName := make(map[string]string, len(stack))
	for name, value := range stack {
		byName[strings.ToLower(name)] = value
	}
	output := map[string]v1alpha1.Value{}
	for _, o := range m.Outputs {
		value, ok := stack[o.From]
		if !ok {
			value, ok = byName[strings.ToLower(o.From)]
		}
		if ok {
			output[o.Name] = v1alpha1.Value{Text: value, Number: o.Number}
		}
	}
	return output
}
