package model

import (
	"strconv"

	cfntemplate "github.com/aws-operator/aws-operator/internal/cfn/template"
)

// Locate replaces the positions in a derived template by the fields of the spec, so that problems
// name these: users do not see the template. It changes no template of a definition.
func (m *Model) Locate(t *cfntemplate.Template) {
	if resource := t.Resources[resourceID]; !m.ownTemplate && resource != nil {
		locate(resource.Properties, m.fields, "spec")
	}
}

func locate(n *cfntemplate.Node, s *shape, path string) {
	if n == nil {
		return
	}
	n.Pos = cfntemplate.Position{File: path}
	for i, item := range n.Items {
		locate(item, s.below(), path+"["+strconv.Itoa(i)+"]")
	}
	for i := range n.Fields {
		name, below := s.field(n.Fields[i].Key)
		n.Fields[i].KeyPos = cfntemplate.Position{File: path + "." + name}
		locate(n.Fields[i].Value, below, path+"."+name)
	}
}
