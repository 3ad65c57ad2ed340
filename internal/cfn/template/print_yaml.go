package template

import (
	"regexp"
	"strings"
)

// YAML returns the template as YAML: sections in the usual order, everything else sorted,
// intrinsics in their short form where YAML allows. Parsing it again returns an equal template.
func (t *Template) YAML() []byte {
	w := &yamlWriter{}
	w.block(t.root(), 0, true)
	if len(w.out) == 0 {
		return []byte("{}\n")
	}
	return w.out
}

// YAML returns the value as YAML.
func (n *Node) YAML() []byte {
	w := &yamlWriter{}
	if n != nil && (n.Kind == Map && len(n.Fields) > 0 || n.Kind == List && len(n.Items) > 0) {
		w.block(n, 0, false)
		return w.out
	}
	w.value(n, 0)
	return []byte(strings.TrimPrefix(string(w.out), " "))
}

// yamlWriter writes block style YAML.
type yamlWriter struct{ out []byte }

func (w *yamlWriter) text(s string) { w.out = append(w.out, s...) }

func (w *yamlWriter) indent(depth int) {
	for range depth {
		w.text("  ")
	}
}

// block writes the members of a map or a list, each on its own lines.
func (w *yamlWriter) block(n *Node, depth int, sourceOrder bool) {
	if n.Kind == List {
		for _, item := range n.Items {
			w.item(item, depth)
		}
		return
	}
	fields := n.Fields
	if !sourceOrder {
		fields = n.sortedFields()
	}
	for _, field := range fields {
		w.indent(depth)
		w.scalar(field.Key)
		w.text(":")
		w.value(field.Value, depth+1)
	}
}

// item writes one element of a list; a block begins on the dash's line.
func (w *yamlWriter) item(n *Node, depth int) {
	if n != nil && (n.Kind == Map && len(n.Fields) > 0 || n.Kind == List && len(n.Items) > 0) {
		start := len(w.out)
		w.block(n, depth+1, false)
		w.out[start+2*depth] = '-'
		return
	}
	w.indent(depth)
	w.text("-")
	w.value(n, depth+1)
}

// value writes what follows a key or a dash, to the end of its last line.
func (w *yamlWriter) value(n *Node, depth int) {
	switch {
	case n == nil || n.Kind == Null:
		w.text(" null\n")
	case n.Kind == Bool && n.Bool:
		w.text(" true\n")
	case n.Kind == Bool:
		w.text(" false\n")
	case n.Kind == Number:
		w.text(" " + n.Text + "\n")
	case n.Kind == String:
		w.stringValue(n.Text, depth)
	case n.Kind == List && len(n.Items) == 0:
		w.text(" []\n")
	case n.Kind == Map && len(n.Fields) == 0:
		w.text(" {}\n")
	case n.Kind == Intrinsic:
		w.call(n, depth)
	default:
		w.text("\n")
		w.block(n, depth, false)
	}
}

// call writes an intrinsic, in short form unless its argument is a call too: YAML allows only one
// tag for a value.
func (w *yamlWriter) call(n *Node, depth int) {
	short := "!" + strings.TrimPrefix(n.Func, "Fn::")
	if name, ok := getAttName(n); ok {
		w.text(" " + short + " ")
		w.scalar(name)
		w.text("\n")
		return
	}
	if hasShortForm[n.Func] && n.Arg != nil && (n.Arg.Kind == String || n.Arg.Kind == List || n.Arg.Kind == Map) {
		w.text(" " + short)
		w.value(n.Arg, depth)
		return
	}
	w.text("\n")
	w.indent(depth)
	w.text(n.Func + ":")
	w.value(n.Arg, depth+1)
}

// hasShortForm lists the functions whose short form every parser of templates supports; newer
// functions and those of rules use the long form.
var hasShortForm = map[string]bool{
	"Ref": true, "Condition": true, "Fn::Base64": true, "Fn::Cidr": true, "Fn::FindInMap": true, "Fn::GetAtt": true,
	"Fn::GetAZs": true, "Fn::If": true, "Fn::And": true, "Fn::Or": true, "Fn::Not": true, "Fn::Equals": true,
	"Fn::ImportValue": true, "Fn::Join": true, "Fn::Select": true, "Fn::Split": true, "Fn::Sub": true,
}

// getAttName returns "Resource.Attribute" if a Fn::GetAtt can be written so.
func getAttName(n *Node) (string, bool) {
	if n.Func != "Fn::GetAtt" || n.Arg == nil || n.Arg.Kind != List || len(n.Arg.Items) != 2 {
		return "", false
	}
	logicalID, attribute := n.Arg.Items[0], n.Arg.Items[1]
	if logicalID.Kind != String || attribute.Kind != String || logicalID.Text == "" || attribute.Text == "" ||
		strings.Contains(logicalID.Text, ".") {
		return "", false
	}
	return logicalID.Text + "." + attribute.Text, true
}

// plainScalar matches text that every YAML parser reads as a string without quotes.
var plainScalar = regexp.MustCompile(`^[A-Za-z/$][A-Za-z0-9_./$+-]*(::?[A-Za-z0-9_./$+*-]+)*$`)

// notPlain are words that some YAML parsers do not read as strings.
var notPlain = map[string]bool{
	"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true,
	"true": true, "false": true, "null": true,
}

func (w *yamlWriter) scalar(text string) {
	if plainScalar.MatchString(text) && !notPlain[strings.ToLower(text)] || plainWords.MatchString(text) {
		w.text(text)
		return
	}
	w.out = appendQuoted(w.out, text)
}

// plainWords matches sentences that need no quotes.
var plainWords = regexp.MustCompile(`^[A-Za-z]+,?( [A-Za-z0-9.,()/_-]+)+$`)

func (w *yamlWriter) stringValue(text string, depth int) {
	if literalBlock(text) {
		w.literal(text, depth)
		return
	}
	w.text(" ")
	w.scalar(text)
	w.text("\n")
}

// literalBlock reports whether text is readable, and safe, as a literal block.
func literalBlock(text string) bool {
	body := strings.TrimSuffix(text, "\n")
	if !strings.Contains(body, "\n") || strings.HasSuffix(body, "\n") {
		return false
	}
	for line := range strings.SplitSeq(body, "\n") {
		if strings.TrimRight(line, " ") != line {
			return false
		}
		for i := range len(line) {
			if line[i] < 0x20 || line[i] >= 0x7f {
				return false
			}
		}
	}
	return body[0] != ' ' && body[0] != '\n'
}

func (w *yamlWriter) literal(text string, depth int) {
	if strings.HasSuffix(text, "\n") {
		w.text(" |\n")
	} else {
		w.text(" |-\n")
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if line != "" {
			w.indent(depth)
			w.text(line)
		}
		w.text("\n")
	}
}
