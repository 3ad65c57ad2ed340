package template

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CanonicalJSON returns the template as compact JSON: intrinsics in their long form, keys sorted,
// empty sections omitted. Templates with the same meaning have the same canonical JSON.
func (t *Template) CanonicalJSON() []byte {
	return t.root().AppendJSON(make([]byte, 0, 4096))
}

// JSON returns the canonical JSON, indented for readers.
func (t *Template) JSON() []byte {
	var indented bytes.Buffer
	if err := json.Indent(&indented, t.CanonicalJSON(), "", "  "); err != nil {
		// AppendJSON writes valid JSON, so indenting fails only if a Number has an invalid literal,
		// which the package's callers never create.
		return t.CanonicalJSON()
	}
	indented.WriteByte('\n')
	return indented.Bytes()
}

// Digest returns the SHA-256 of the canonical JSON in hexadecimal.
func (t *Template) Digest() string {
	sum := sha256.Sum256(t.CanonicalJSON())
	return hex.EncodeToString(sum[:])
}

// Node returns the template as one Map, as ParseNode would return it.
func (t *Template) Node() *Node { return t.root() }

// section is one part of the printed template.
type section struct {
	name  string
	value *Node
}

// root assembles the printed tree.
func (t *Template) root() *Node {
	root := &Node{Kind: Map}
	for _, s := range []section{
		{"AWSTemplateFormatVersion", optionalText(t.FormatVersion)},
		{"Description", optionalText(t.Description)},
		{"Metadata", t.Metadata},
		{"Transform", t.transformNode()},
		{"Parameters", sectionNode(t, "Parameters", t.Parameters, (*Parameter).node)},
		{"Rules", t.Rules},
		{"Mappings", t.Mappings},
		{"Conditions", sectionNode(t, "Conditions", t.Conditions, func(n *Node) *Node { return n })},
		{"Hooks", t.Hooks},
		{"Globals", t.Globals},
		{"Resources", sectionNode(t, "Resources", t.Resources, (*Resource).node)},
		{"Outputs", sectionNode(t, "Outputs", t.Outputs, (*Output).node)},
	} {
		root.add(s.name, s.value)
	}
	root.Fields = append(root.Fields, t.Macros[""]...)
	return root
}

// add appends a member unless its value is nil.
func (n *Node) add(key string, value *Node) {
	if value != nil {
		n.Fields = append(n.Fields, Field{Key: key, Value: value})
	}
}

func optionalText(text string) *Node {
	if text == "" {
		return nil
	}
	return NewString(text)
}

func (t *Template) transformNode() *Node {
	list := NewList()
	for _, name := range t.Transforms {
		list.Items = append(list.Items, NewString(name))
	}
	for _, macro := range t.Macros["Transform"] {
		list.Items = append(list.Items, macro.Value)
	}
	if len(list.Items) == 0 {
		return nil
	}
	if len(list.Items) == 1 {
		return list.Items[0]
	}
	return list
}

func sectionNode[T any](t *Template, name string, all map[string]T, node func(T) *Node) *Node {
	macros := t.Macros[name]
	if len(all) == 0 && len(macros) == 0 {
		return nil
	}
	section := &Node{Kind: Map, Fields: make([]Field, 0, len(all)+len(macros))}
	for key, member := range all {
		section.Fields = append(section.Fields, Field{Key: key, Value: node(member)})
	}
	section.Fields = append(section.Fields, macros...)
	sortFields(section.Fields)
	return section
}

func (r *Resource) node() *Node {
	n := &Node{Kind: Map, Fields: make([]Field, 0, 4)}
	n.add("Type", optionalText(r.Type))
	n.add("Condition", optionalText(r.Condition))
	if len(r.DependsOn) > 0 {
		n.add("DependsOn", FromInterface(slices.Compact(slices.Sorted(slices.Values(r.DependsOn)))))
	}
	n.add("DeletionPolicy", optionalText(r.DeletionPolicy))
	n.add("UpdateReplacePolicy", optionalText(r.UpdateReplacePolicy))
	n.add("CreationPolicy", r.CreationPolicy)
	n.add("UpdatePolicy", r.UpdatePolicy)
	n.add("Metadata", r.Metadata)
	n.add("Properties", r.Properties)
	return n
}

func (p *Parameter) node() *Node {
	n := &Node{Kind: Map}
	n.add("Type", NewString(p.Type))
	n.add("Description", optionalText(p.Description))
	n.add("Default", p.Default)
	if len(p.AllowedValues) > 0 {
		n.add("AllowedValues", FromInterface(p.AllowedValues))
	}
	n.add("AllowedPattern", optionalText(p.AllowedPattern))
	n.add("ConstraintDescription", optionalText(p.ConstraintDescription))
	n.add("MinLength", intNode(p.MinLength))
	n.add("MaxLength", intNode(p.MaxLength))
	n.add("MinValue", floatNode(p.MinValue))
	n.add("MaxValue", floatNode(p.MaxValue))
	if p.NoEcho {
		n.add("NoEcho", NewBool(true))
	}
	return n
}

func intNode(value *int) *Node {
	if value == nil {
		return nil
	}
	return NewNumber(strconv.Itoa(*value))
}

func floatNode(value *float64) *Node {
	if value == nil {
		return nil
	}
	return NewNumber(strconv.FormatFloat(*value, 'f', -1, 64))
}

func (o *Output) node() *Node {
	n := &Node{Kind: Map}
	n.add("Description", optionalText(o.Description))
	n.add("Value", o.Value)
	n.add("Condition", optionalText(o.Condition))
	if o.ExportName != nil {
		n.add("Export", &Node{Kind: Map, Fields: []Field{{Key: "Name", Value: o.ExportName}}})
	}
	return n
}

func compareKeys(a, b Field) int { return cmp.Compare(a.Key, b.Key) }

func sortFields(fields []Field) { slices.SortFunc(fields, compareKeys) }

// sortedFields returns a Map's members sorted by key, without changing n.
func (n *Node) sortedFields() []Field {
	if slices.IsSortedFunc(n.Fields, compareKeys) {
		return n.Fields
	}
	fields := slices.Clone(n.Fields)
	sortFields(fields)
	return fields
}

// MarshalJSON returns the node as canonical JSON.
func (n *Node) MarshalJSON() ([]byte, error) { return n.AppendJSON(nil), nil }

// AppendJSON appends the node as compact canonical JSON.
func (n *Node) AppendJSON(dst []byte) []byte {
	if n == nil {
		return append(dst, "null"...)
	}
	switch n.Kind {
	case Bool:
		return strconv.AppendBool(dst, n.Bool)
	case Number:
		return append(dst, n.Text...)
	case String:
		return appendQuoted(dst, n.Text)
	case List:
		dst = append(dst, '[')
		for i, item := range n.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.AppendJSON(dst)
		}
		return append(dst, ']')
	case Map:
		dst = append(dst, '{')
		for i, field := range n.sortedFields() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendQuoted(dst, field.Key), ':')
			dst = field.Value.AppendJSON(dst)
		}
		return append(dst, '}')
	case Intrinsic:
		dst = append(dst, '{')
		dst = append(appendQuoted(dst, n.Func), ':')
		return append(n.Arg.AppendJSON(dst), '}')
	default:
		return append(dst, "null"...)
	}
}

const hexDigits = "0123456789abcdef"

// appendQuoted appends text in double quotes, escaped so that both JSON and YAML can parse it.
func appendQuoted(dst []byte, text string) []byte {
	dst = append(dst, '"')
	if plainASCII(text) {
		return append(append(dst, text...), '"')
	}
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff:
			dst = append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

func plainASCII(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
