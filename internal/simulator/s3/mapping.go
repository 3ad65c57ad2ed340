package s3

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
)

// mapping maps a CloudFormation property to an element of an XML document. One table serves both
// directions: configuring a bucket and reading its live properties.
type mapping struct {
	property string
	path     string // of element names, "/" between them; the property's name if empty
	kind     kind
	list     bool
	fields   []mapping // of a structure
	// written marks a property that is only written, because another property reads it back.
	written bool
}

type kind int

const (
	isText kind = iota
	isNumber
	isBool
	isStruct
)

func (m *mapping) names() []string {
	if m.path == "" {
		return []string{m.property}
	}
	return strings.Split(m.path, "/")
}

// toXML converts properties to a document.
func toXML(root string, fields []mapping, properties map[string]any) (*node, error) {
	n := element(root)
	for i := range fields {
		value, given := properties[fields[i].property]
		if !given || value == nil {
			continue
		}
		if err := fields[i].put(n, value); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// put adds one property's value to the document.
func (m *mapping) put(n *node, value any) error {
	names := m.names()
	for _, name := range names[:len(names)-1] {
		next := n.child(name)
		if next == nil {
			next = element(name)
			n.children = append(n.children, next)
		}
		n = next
	}
	values := []any{value}
	if list, ok := value.([]any); ok && m.list {
		values = list
	}
	for _, v := range values {
		made, err := m.node(names[len(names)-1], v)
		if err != nil {
			return err
		}
		n.children = append(n.children, made)
	}
	return nil
}

func (m *mapping) node(name string, value any) (*node, error) {
	if m.kind != isStruct {
		return leaf(name, scalar(value)), nil
	}
	properties, ok := value.(map[string]any)
	if !ok {
		return nil, invalidRequest(fmt.Sprintf("%s must be an object", m.property))
	}
	for given := range properties {
		if !hasField(m.fields, given) {
			return nil, invalidRequest(fmt.Sprintf("The simulator does not serve the property %s of %s", given, m.property))
		}
	}
	return toXML(name, m.fields, properties)
}

func hasField(fields []mapping, property string) bool {
	for i := range fields {
		if fields[i].property == property {
			return true
		}
	}
	return false
}

func scalar(value any) string {
	if text, ok := property.Text(value); ok {
		return text
	}
	return fmt.Sprint(value)
}

// fromXML converts a document to properties.
func fromXML(n *node, fields []mapping) map[string]any {
	out := map[string]any{}
	for i := range fields {
		if v := fields[i].get(n); v != nil {
			out[fields[i].property] = v
		}
	}
	return out
}

func (m *mapping) get(n *node) any {
	if m.written {
		return nil
	}
	names := m.names()
	for _, name := range names[:len(names)-1] {
		n = n.child(name)
	}
	found := n.all(names[len(names)-1])
	if len(found) == 0 {
		return nil
	}
	if !m.list {
		return m.value(found[0])
	}
	out := make([]any, len(found))
	for i, one := range found {
		out[i] = m.value(one)
	}
	return out
}

func (m *mapping) value(n *node) any {
	switch m.kind {
	case isStruct:
		return fromXML(n, m.fields)
	case isBool:
		return n.text == "true"
	case isNumber:
		v, err := strconv.ParseFloat(n.text, 64)
		if err != nil {
			return n.text
		}
		return v
	default:
		return n.text
	}
}
