package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/grant"
)

// Adoption is an existing resource that an object's stack takes over instead of creating it.
type Adoption struct {
	// Resource is the logical ID, Type the CloudFormation type.
	Resource, Type string
	// Identifier is the primary identifier, by property.
	Identifier map[string]string
	// Create creates the resource if it does not exist.
	Create bool
}

// Adopts returns the resource that the annotations of an object ask to adopt, or nil. Desired is the
// object's stack. The error is a *RefusedError if the annotations are invalid, or if the limits do
// not let the namespace adopt the resource. Nil limits allow everything.
//
// The author of an object acts with the operator's permissions, and may delete what was adopted. So
// an administrator says which resources a namespace may adopt; the account does not matter, since the
// namespaces that may use an identity are the administrator's choice too.
func Adopts(obj *v1alpha1.Object, desired *Desired, registry *schema.Registry, limits *Limits) (*Adoption, error) {
	text := strings.TrimSpace(obj.Annotations[v1alpha1.AdoptAnnotation])
	create, err := adoptionPolicy(obj)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, nil //nolint:nilnil // nil means that the object adopts nothing
	}
	adoption := &Adoption{Create: create}
	if adoption.Resource, text, err = adopted(desired, text); err != nil {
		return nil, err
	}
	adoption.Type = desired.Template.Resources[adoption.Resource].Type
	t, ok := registry.Type(adoption.Type)
	if !ok || len(t.PrimaryIdentifier) == 0 {
		return nil, invalidAdoption("CloudFormation has no identifier for resources of type %s; remove the annotation", adoption.Type)
	}
	parts := strings.Split(text, "|")
	if len(t.PrimaryIdentifier) == 1 {
		parts = []string{text}
	}
	if len(parts) != len(t.PrimaryIdentifier) || slices.Contains(parts, "") {
		return nil, invalidAdoption("resources of type %s are identified by %s; write these values, separated by |",
			adoption.Type, strings.Join(t.PrimaryIdentifier, "|"))
	}
	adoption.Identifier = map[string]string{}
	for i, name := range t.PrimaryIdentifier {
		adoption.Identifier[name] = parts[i]
	}
	return adoption, limits.allowsAdoption(obj.Namespace, adoption.Type+"/"+text)
}

// adoptionPolicy reports whether a resource that does not exist is created.
func adoptionPolicy(obj *v1alpha1.Object) (create bool, err error) {
	switch policy := obj.Annotations[v1alpha1.AdoptionPolicyAnnotation]; policy {
	case "", v1alpha1.AdoptionPolicyAdopt:
		return false, nil
	case v1alpha1.AdoptionPolicyAdoptOrCreate:
		return true, nil
	default:
		return false, &RefusedError{"UnknownAdoptionPolicy", fmt.Sprintf("The annotation %s is %q; set it to %s or %s.",
			v1alpha1.AdoptionPolicyAnnotation, policy, v1alpha1.AdoptionPolicyAdopt, v1alpha1.AdoptionPolicyAdoptOrCreate)}
	}
}

// adopted returns the logical ID of the resource to adopt, and its identifier. A stack with several
// resources, besides the policies of grants, needs the logical ID before the identifier:
// LOGICALID=IDENTIFIER.
func adopted(desired *Desired, text string) (resource, identifier string, err error) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(desired.Template.Resources)), func(name string) bool {
		return slices.Contains(desired.Grants, name)
	})
	if name, rest, ok := strings.Cut(text, "="); ok && slices.Contains(names, name) {
		return name, rest, nil
	}
	if len(names) == 1 {
		return names[0], text, nil
	}
	return "", "", invalidAdoption("the object's stack has the resources %s; write which of them is adopted before its identifier, as in %s=%s",
		strings.Join(names, ", "), firstOr(names, "RESOURCE"), text)
}

func firstOr(names []string, otherwise string) string {
	if len(names) == 0 {
		return otherwise
	}
	return names[0]
}

func invalidAdoption(format string, args ...any) error {
	return &RefusedError{"InvalidAdoption", fmt.Sprintf(
		"The annotation "+v1alpha1.AdoptAnnotation+" does not name a resource: "+format+".", args...)}
}

// allowsAdoption returns a *RefusedError unless objects of a namespace may adopt a resource, which is
// its type, a slash and its primary identifier.
func (l *Limits) allowsAdoption(namespace, resource string) error {
	name := resource[strings.LastIndexAny(resource, "/:")+1:]
	switch {
	case l == nil:
		return nil
	case l.OwnPrefix != "" && strings.HasPrefix(name, l.OwnPrefix):
		return &RefusedError{"OperatorsOwn", fmt.Sprintf("The annotation %s names %s, which belongs to the operator; name another resource.",
			v1alpha1.AdoptAnnotation, resource)}
	case !grant.Allows(l.Adoption, namespace, resource):
		return &RefusedError{"AdoptionNotAllowed", fmt.Sprintf("The annotation %s names %s, which objects of namespace %s may not adopt; "+
			"remove the annotation, or have an administrator start the operator with --allow-adoption=%[3]s=%[2]s.",
			v1alpha1.AdoptAnnotation, resource, namespace)}
	}
	return nil
}
