package s3

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

const (
	namespace  = "http://s3.amazonaws.com/doc/2006-03-01/"
	xsi        = "http://www.w3.org/2001/XMLSchema-instance"
	xmlHeader  = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"
	maxXMLBody = 2 << 20
)

// node is an XML element. Configurations are stored as they were sent, so that elements that the
// simulator does not interpret are returned as well.
type node struct {
	name, text string
	kind       string // xsi:type, of a Grantee
	children   []*node
}

// element returns a node with children.
func element(name string, children ...*node) *node { return &node{name: name, children: children} }

// leaf returns a node with text.
func leaf(name, text string) *node { return &node{name: name, text: text} }

// add appends a child with text and returns the node.
func (n *node) add(name, text string) *node {
	n.children = append(n.children, leaf(name, text))
	return n
}

// addIf appends a child with text if the text is not empty.
func (n *node) addIf(name, text string) *node {
	if text != "" {
		n.add(name, text)
	}
	return n
}

// child returns the first child with a name, or nil. It may be called on a nil node.
func (n *node) child(name string) *node {
	if n == nil {
		return nil
	}
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

// all returns the children with a name.
func (n *node) all(name string) []*node {
	var out []*node
	if n != nil {
		for _, c := range n.children {
			if c.name == name {
				out = append(out, c)
			}
		}
	}
	return out
}

// at returns the text at a path of names, or "".
func (n *node) at(path ...string) string {
	for _, name := range path {
		n = n.child(name)
	}
	if n == nil {
		return ""
	}
	return strings.TrimSpace(n.text)
}

// document returns the node as an XML document in S3's namespace.
func (n *node) document() []byte {
	var buf bytes.Buffer
	buf.WriteString(xmlHeader)
	n.write(&buf, ` xmlns="`+namespace+`"`)
	return buf.Bytes()
}

func (n *node) write(buf *bytes.Buffer, attributes string) {
	if n.kind != "" {
		attributes += ` xmlns:xsi="` + xsi + `" xsi:type="` + n.kind + `"`
	}
	buf.WriteString("<" + n.name + attributes + ">")
	if len(n.children) == 0 {
		// EscapeText returns only the errors of its writer, and a buffer has none.
		_ = xml.EscapeText(buf, []byte(n.text))
	}
	for _, c := range n.children {
		c.write(buf, "")
	}
	buf.WriteString("</" + n.name + ">")
}

// parseXML parses a document; anything else is MalformedXML.
func parseXML(data []byte) (*node, error) {
	decoder := xml.NewDecoder(bytes.NewReader(data)) //nolint:gosec // Tokens go into a tree; nothing is made from their names.
	stack := []*node{{}}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, malformedXML()
		}
		top := stack[len(stack)-1]
		switch t := token.(type) {
		case xml.StartElement:
			n := &node{name: t.Name.Local}
			for _, a := range t.Attr {
				if a.Name.Local == "type" {
					n.kind = a.Value
				}
			}
			top.children = append(top.children, n)
			stack = append(stack, n)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.text += string(t)
		}
	}
	if len(stack) != 1 || len(stack[0].children) != 1 {
		return nil, malformedXML()
	}
	return stack[0].children[0], nil
}

// parseRoot parses a document whose root has the given name.
func parseRoot(data []byte, root string) (*node, error) {
	n, err := parseXML(data)
	if err != nil {
		return nil, err
	}
	if n.name != root {
		return nil, malformedXML()
	}
	return n, nil
}
