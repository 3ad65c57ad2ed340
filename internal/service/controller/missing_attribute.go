package controller

import (
	"fmt"
	"regexp"
	"strings"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// missingAttribute matches CloudFormation's reason for the failure of a stack of which an output
// reads an attribute that the resource does not have:
// https://github.com/awsdocs/aws-cloudformation-user-guide/issues/1048
var missingAttribute = regexp.MustCompile(`Attribute '([^']+)' does not exist`)

// explainMissingAttribute adds to the message of a failed stack which outputs read a missing
// attribute, and the remedy.
func explainMissingAttribute(result *stack.Result, obj *v1alpha1.Object, m *model.Model, t *cfntemplate.Template) {
	if result.State != stack.Stalled && result.State != stack.Waiting {
		return
	}
	match := missingAttribute.FindStringSubmatch(result.Message)
	if match == nil {
		return
	}
	outputs := m.OutputsThatRead(t, match[1])
	if len(outputs) == 0 {
		return
	}
	reads, remove := "The output %s reads the attribute %s", "Remove the output"
	if len(outputs) > 1 {
		reads, remove = "The outputs %s read the attribute %s", "Remove the outputs"
	}
	result.Message += fmt.Sprintf(" "+reads+", which AWS sets only for some resources. %s from %s, or set the fields that the attribute needs.",
		strings.Join(outputs, ", "), match[1], remove, templateSource(obj, m))
}

// templateSource returns the object that has the template of an object's stack.
func templateSource(obj *v1alpha1.Object, m *model.Model) string {
	if key, err := templateOf(obj); err == nil && key.Name != "" {
		return "CloudFormationTemplate " + key.Name
	}
	return "ModelDefinition " + m.Name
}
