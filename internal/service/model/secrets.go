package model

import (
	"strconv"
	"strings"

	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
)

// PlainSecret is a secret that the template of a stack contains as plain text.
type PlainSecret struct {
	// Resource is the logical ID of the resource, Property the path of its property.
	Resource, Property string
	// Field is the field of the spec, such as masterUserPassword; empty if the definition contains
	// the template.
	Field string
}

// PlainSecrets finds the secrets in a template of the model's that are plain text.
func (m *Model) PlainSecrets(t *cfntemplate.Template) []PlainSecret {
	var secrets []PlainSecret
	for _, found := range m.registry.PlainSecrets(t) {
		one := PlainSecret{Resource: found.Resource.LogicalID, Property: strings.Join(found.Path, "/")}
		if !m.ownTemplate {
			one.Field = m.fields.path(found.Path)
		}
		secrets = append(secrets, one)
	}
	return secrets
}

// path converts the path of a property to that of its field.
func (s *shape) path(property []string) string {
	path := ""
	for _, part := range property {
		if _, err := strconv.Atoi(part); err == nil {
			path, s = path+"["+part+"]", s.below()
			continue
		}
		name, below := s.field(part)
		path, s = path+"."+name, below
	}
	return strings.TrimPrefix(path, ".")
}

// field returns the name and the shape of the field of a property, or of a key of a map.
func (s *shape) field(property string) (string, *shape) {
	if s != nil {
		for name, known := range s.fields {
			if known.property == property {
				return name, known.shape
			}
		}
	}
	return property, s.below()
}

// below returns the shape of the items of a list or a map; nil if it is not known.
func (s *shape) below() *shape {
	if s == nil {
		return nil
	}
	return s.items
}
