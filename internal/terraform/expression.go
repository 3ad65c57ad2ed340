package terraform

import (
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// expression is the value of an argument: a text, which may have references in it, or any other
// expression.
type expression struct {
	// pieces are those of a text. If there are none, source is the expression.
	pieces []piece
	// source is in Terraform's language.
	source string
}

// piece is a part of a text: either literal or a reference.
type piece struct {
	literal string
	// source is an expression, variable what it is called where it is handed to a template.
	source, variable string
}

// text returns a literal text.
func text(literal string) expression { return expression{pieces: []piece{{literal: literal}}} }

// raw returns an expression in Terraform's language.
func raw(source string) expression { return expression{source: source} }

// reference returns a reference and what it is called in templates.
func reference(source, variable string) expression {
	return expression{pieces: []piece{{source: source, variable: variable}}}
}

// asPieces returns an expression as parts of a text. The variable is what it is called if it is no
// text.
func (e expression) asPieces(variable string) []piece {
	if len(e.pieces) > 0 {
		return e.pieces
	}
	return []piece{{source: e.source, variable: variable}}
}

// joined puts parts together to a text.
func joined(pieces []piece) expression {
	var whole []piece
	for _, p := range pieces {
		last := len(whole) - 1
		switch {
		case p.source == "" && p.literal == "":
		case p.source == "" && last >= 0 && whole[last].source == "":
			whole[last].literal += p.literal
		default:
			whole = append(whole, p)
		}
	}
	if len(whole) == 0 {
		return text("")
	}
	return expression{pieces: whole}
}

// literal returns a text without references, and whether it is one.
func (e expression) literal() (string, bool) {
	if len(e.pieces) != 1 || e.pieces[0].source != "" {
		return "", false
	}
	return e.pieces[0].literal, true
}

// String returns the expression in Terraform's language.
func (e expression) String() string {
	switch {
	case len(e.pieces) == 0:
		return e.source
	case len(e.pieces) == 1 && e.pieces[0].source != "":
		return e.pieces[0].source
	}
	var out strings.Builder
	out.WriteByte('"')
	for _, p := range e.pieces {
		if p.source != "" {
			out.WriteString("${" + p.source + "}")
			continue
		}
		quoted := quote(p.literal)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	out.WriteByte('"')
	return out.String()
}

// quote returns a literal text in Terraform's language.
func quote(literal string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(literal)).Bytes())
}

// call returns the call of a function.
func call(function string, arguments ...expression) expression {
	all := make([]string, len(arguments))
	for i, a := range arguments {
		all[i] = a.String()
	}
	return raw(function + "(" + strings.Join(all, ", ") + ")")
}

// longLine is how long a list may be to stand in one line.
const longLine = 80

// list returns a list, on several lines if it is long.
func list(items []expression) expression {
	all := make([]string, len(items))
	length := 0
	for i, item := range items {
		all[i] = item.String()
		length += len(all[i])
	}
	if len(items) < 2 || length < longLine {
		return raw("[" + strings.Join(all, ", ") + "]")
	}
	return raw("[\n" + strings.Join(all, ",\n") + ",\n]")
}

// member is a named value.
type member struct {
	name  string
	value expression
}

// object returns an object, its members on lines of their own.
func object(members []member) expression {
	if len(members) == 0 {
		return raw("{}")
	}
	var out strings.Builder
	out.WriteString("{\n")
	for _, m := range members {
		name := m.name
		if !isIdentifier(name) {
			name = quote(name)
		}
		out.WriteString(name + " = " + m.value.String() + "\n")
	}
	out.WriteString("}")
	return raw(out.String())
}

// isIdentifier reports whether a key can stand without quotes.
func isIdentifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && s != "null" && s != "true" && s != "false" && s != "for"
}
