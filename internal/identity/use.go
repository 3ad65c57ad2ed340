package identity

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/identity/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/grant"
)

// Use is how the operator acts for an object. The zero value is with its own credentials, in its
// own account and region, without limits.
type Use struct {
	// Identity is the name of the AWSIdentity; empty for the operator's own credentials.
	Identity string
	// Target has the credentials, and Place is their account and region.
	Target awsapi.Target
	Place  awsapi.Place
	// ServiceRole is the role that CloudFormation assumes; empty for the target's.
	ServiceRole string
	// Boundary is the permissions boundary of all roles and users; empty for none.
	Boundary string
	// Types are the resource types that stacks may contain; empty for all.
	Types []string
	// Tags are those of the object, its namespace and its identity.
	Tags map[string]string
}

// Note writes where an object's stacks are going to be into its annotations: a stack is found even if
// the status is lost and the identity changes.
func (u *Use) Note(obj client.Object) {
	annotations := maps.Clone(obj.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.CreatedInAnnotation] = u.Place.String()
	obj.SetAnnotations(annotations)
}

// bounded are the types whose permissions boundary the operator sets.
var bounded = []string{"AWS::IAM::Role", "AWS::IAM::User"}

// unbounded are types that create roles, or stacks that may, without a permissions boundary in the
// template.
var unbounded = []string{
	"AWS::CloudFormation::Stack", "AWS::CloudFormation::StackSet", "AWS::CloudFormation::Macro", "AWS::CloudFormation::CustomResource",
	"AWS::IAM::ServiceLinkedRole", "AWS::SSO::PermissionSet", "AWS::ServiceCatalog::CloudFormationProvisionedProduct",
}

// indirect are the types that no pattern with * allows, since they create resources of types that
// the template does not name.
var indirect = []string{"AWS::CloudFormation::", "AWS::ServiceCatalog::CloudFormationProvisionedProduct", "Custom::"}

// Limit makes a desired stack obey the identity: its service role, its permissions boundary and its
// resource types. The stack's template is not modified but replaced. It returns a [*RefusedError]
// for a template that could avoid the limits.
func (u *Use) Limit(desired *stack.Desired) error {
	desired.RoleARN = u.ServiceRole
	if err := u.checkTypes(desired.Template); err != nil {
		return err
	}
	if u.Boundary == "" {
		return nil
	}
	if err := u.checkBounded(desired.Template); err != nil {
		return err
	}
	desired.Template = u.bound(desired.Template)
	return nil
}

func (u *Use) checkTypes(t *template.Template) error {
	if len(u.Types) == 0 {
		return nil
	}
	if name := expanded(t); name != "" {
		return u.refuse("has the macro %s, which can create resources of any type; write them out", name)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Resources)) {
		if of := t.Resources[name].Type; !u.allows(of) {
			return u.refuse("has resource %s of type %s, which is not allowed; remove it, or have an administrator add the type to spec.allowedResourceTypes",
				name, of)
		}
	}
	return nil
}

func (u *Use) allows(of string) bool {
	return slices.ContainsFunc(u.Types, func(pattern string) bool {
		return pattern == of || grant.Matches(pattern, of) &&
			!strings.HasSuffix(of, "::MODULE") && !slices.ContainsFunc(indirect, func(beginning string) bool { return strings.HasPrefix(of, beginning) })
	})
}

// checkBounded refuses what could create roles that the template does not contain.
func (u *Use) checkBounded(t *template.Template) error {
	if name := expanded(t); name != "" {
		return u.refuse("has the macro %s, which can create roles without the permissions boundary; write the resources out", name)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Resources)) {
		of := t.Resources[name].Type
		if slices.Contains(unbounded, of) || strings.HasPrefix(of, "Custom::") || strings.HasSuffix(of, "::MODULE") {
			return u.refuse("has resource %s of type %s, which can create roles without the permissions boundary; remove it", name, of)
		}
	}
	return nil
}

// expanded returns the name of a macro in the template, empty if there is none. Language extensions
// add no types of resources.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/transform-aws-languageextensions.html
func expanded(t *template.Template) string {
	for _, name := range t.Transforms {
		if name != "AWS::LanguageExtensions" {
			return name
		}
	}
	for _, section := range slices.Sorted(maps.Keys(t.Macros)) {
		for _, field := range t.Macros[section] {
			return field.Key
		}
	}
	found := ""
	t.Node().Walk(func(n *template.Node) bool {
		if n.Kind == template.Intrinsic && n.Func == "Fn::Transform" ||
			n.Kind == template.Map && slices.ContainsFunc(n.Fields, func(f template.Field) bool { return f.Key == "Fn::Transform" }) {
			found = "Fn::Transform"
		}
		return found == ""
	})
	return found
}

// bound returns the template with the permissions boundary on every role and user.
func (u *Use) bound(t *template.Template) *template.Template {
	bound := *t
	bound.Resources = maps.Clone(t.Resources)
	for name, r := range t.Resources {
		if !slices.Contains(bounded, r.Type) {
			continue
		}
		one := *r
		properties := &template.Node{Kind: template.Map}
		if r.Properties != nil {
			properties = r.Properties.Clone()
		}
		properties.Fields = slices.DeleteFunc(properties.Fields, func(f template.Field) bool { return f.Key == "PermissionsBoundary" })
		properties.Fields = append(properties.Fields, template.Field{Key: "PermissionsBoundary", Value: template.NewString(u.Boundary)})
		one.Properties = properties
		bound.Resources[name] = &one
	}
	return &bound
}

func (u *Use) refuse(format string, args ...any) error {
	return &RefusedError{Reason: "NotAllowedByIdentity", Message: fmt.Sprintf(
		"The template is not allowed by AWSIdentity "+u.Identity+": it "+format+".", args...)}
}
