package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/service/model"
)

// Observes reports whether the object's resource is only observed. The error is a *RefusedError if the
// annotation has another value than the policies that there are.
func Observes(obj *v1alpha1.Object) (bool, error) {
	switch policy := strings.TrimSpace(obj.Annotations[v1alpha1.ManagementPolicyAnnotation]); {
	case policy == "" || strings.EqualFold(policy, v1alpha1.ManagementPolicyManage):
		return false, nil
	case strings.EqualFold(policy, v1alpha1.ManagementPolicyObserve):
		return true, nil
	default:
		return false, &RefusedError{"UnknownManagementPolicy", fmt.Sprintf("The annotation %s is %q; set it to %s or %s.",
			v1alpha1.ManagementPolicyAnnotation, policy, v1alpha1.ManagementPolicyManage, v1alpha1.ManagementPolicyObserve)}
	}
}

// refs are the properties that Ref returns, for types whose Ref is not the primary identifier.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-events-rule.html
var refs = map[string]string{"AWS::Events::Rule": "Name"}

// Observed returns the output of an object that observes a resource with the given properties: the outputs
// of the kind's template, as CloudFormation would compute them. Outputs that need something else, such as
// another resource, are omitted.
func Observed(m *model.Model, desired *Desired, adoption *Adoption, identifier string, live map[string]any) map[string]v1alpha1.Value {
	const outputs = "Outputs"
	values := &cfntemplate.Node{Kind: cfntemplate.Map}
	for _, name := range slices.Sorted(maps.Keys(desired.Template.Outputs)) {
		value := withLive(desired.Template.Outputs[name].Value, adoption, identifier, live)
		values.Fields = append(values.Fields, cfntemplate.Field{Key: name, Value: value})
	}
	t := *desired.Template
	t.Resources = map[string]*cfntemplate.Resource{outputs: {LogicalID: outputs, Type: "Custom::Outputs", Properties: values}}
	resolved := diff.Resolve(diff.Side{Template: &t, Parameters: desired.Parameters})[outputs]
	known := map[string]string{}
	for name := range desired.Template.Outputs {
		if text, ok := resolved.Properties.Get(name).Scalar(); ok {
			known[name] = text
		}
	}
	return Outputs(m, known)
}

// withLive returns a value in which references to the resource are replaced.
func withLive(n *cfntemplate.Node, adoption *Adoption, identifier string, live map[string]any) *cfntemplate.Node {
	if n == nil {
		return nil
	}
	if n.Kind == cfntemplate.Intrinsic {
		if text, ok := reference(n, adoption, identifier, live); ok {
			return cfntemplate.NewString(text)
		}
	}
	changed := *n
	changed.Arg = withLive(n.Arg, adoption, identifier, live)
	changed.Items = slices.Clone(n.Items)
	for i := range changed.Items {
		changed.Items[i] = withLive(changed.Items[i], adoption, identifier, live)
	}
	changed.Fields = slices.Clone(n.Fields)
	for i := range changed.Fields {
		changed.Fields[i].Value = withLive(changed.Fields[i].Value, adoption, identifier, live)
	}
	return &changed
}

// reference returns what a Ref or a GetAtt of the resource returns.
func reference(n *cfntemplate.Node, adoption *Adoption, identifier string, live map[string]any) (string, bool) {
	switch n.Func {
	case "Ref":
		target, _ := n.Arg.Scalar()
		if target != adoption.Resource {
			return "", false
		}
		if property, differs := refs[adoption.Type]; differs {
			text, ok := live[property].(string)
			return text, ok
		}
		return identifier, true
	case "Fn::GetAtt":
		const parts = 2
		if n.Arg == nil || len(n.Arg.Items) != parts {
			return "", false
		}
		target, _ := n.Arg.Items[0].Scalar()
		attribute, ok := n.Arg.Items[1].Scalar()
		if target != adoption.Resource || !ok {
			return "", false
		}
		var value any = live
		for part := range strings.SplitSeq(attribute, ".") {
			object, _ := value.(map[string]any)
			value = object[part]
		}
		return cfntemplate.FromInterface(value).Scalar()
	}
	return "", false
}
