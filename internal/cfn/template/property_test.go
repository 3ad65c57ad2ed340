package template_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// anyText draws strings that YAML and JSON writers often handle wrong.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`[ -~\n\t]{0,30}`),
		rapid.SampledFrom([]string{
			"", " ", "yes", "No", "null", "~", "5", "0x1F", "1e3", "2012-10-17", "- a", "a: b", "a #b", "# a", "<<", "=",
			"!Ref x", "&a", "*a", "|", ">", "%TAG", "@x", "`x", "{", "[", "'", "\"", "\\", "a\n\n b\n", "\na", "a\n ", "a\r\nb",
			"\u2028", "\ufeff", "\x00", "\x7f", "\u0085", "😀", "trailing:", "Fn::Sub", "---", "...", "on", "y", "?", "-", ":", "1_0",
		}),
	)
}

func anyNode(depth int) *rapid.Generator[*template.Node] {
	return rapid.Custom(func(t *rapid.T) *template.Node {
		choices := 4
		if depth > 0 {
			choices = 10
		}
		switch rapid.IntRange(0, choices-1).Draw(t, "kind") {
		case 0:
			return template.NewBool(rapid.Bool().Draw(t, "bool"))
		case 1:
			return template.NewNumber(rapid.StringMatching(`-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,3})?`).Draw(t, "number"))
		case 2, 3:
			return template.NewString(anyText().Draw(t, "text"))
		case 4:
			return template.NewRef(anyText().Draw(t, "target"))
		case 5:
			name := rapid.StringMatching(`[A-Za-z][A-Za-z0-9.]*[a-z]`)
			return template.NewGetAtt(rapid.StringMatching(`[A-Za-z]+`).Draw(t, "id"), name.Draw(t, "attribute"))
		case 6:
			function := rapid.SampledFrom([]string{"Fn::Sub", "Fn::Join", "Fn::If", "Fn::Base64", "Fn::Select", "Fn::Equals"}).
				Draw(t, "function")
			return &template.Node{Kind: template.Intrinsic, Func: function, Arg: anyNode(depth-1).Draw(t, "argument")}
		case 7:
			return template.NewList(rapid.SliceOfN(anyNode(depth-1), 0, 4).Draw(t, "items")...)
		default:
			return anyMap(depth-1).Draw(t, "map")
		}
	})
}

func anyMap(depth int) *rapid.Generator[*template.Node] {
	return rapid.Custom(func(t *rapid.T) *template.Node {
		node := &template.Node{Kind: template.Map}
		keys := rapid.SliceOfNDistinct(anyText(), 0, 4, rapid.ID).Draw(t, "keys")
		for _, key := range keys {
			node.Fields = append(node.Fields, template.Field{Key: key, Value: anyNode(depth).Draw(t, "value")})
		}
		return node
	})
}

func TestPrintedValueParsesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// The tree's own parsing of plain values is the reference: it decides which maps with one
		// key are intrinsics.
		node := template.FromInterface(anyMap(4).Draw(t, "node").Interface())
		for name, printed := range map[string][]byte{"YAML": node.YAML(), "JSON": node.AppendJSON(nil)} {
			again, err := template.ParseNode("t", printed)
			if err != nil {
				t.Fatalf("%s does not parse: %v\n%s", name, err, printed)
			}
			if !template.Equal(node, again) {
				t.Fatalf("%s means something else:\n%s\n%s\n%s", name, printed, node.AppendJSON(nil), again.AppendJSON(nil))
			}
			if string(again.YAML()) != string(node.YAML()) {
				t.Fatalf("printing is not canonical:\n%s\n%s", node.YAML(), again.YAML())
			}
		}
	})
}

func anyTemplate() *rapid.Generator[*template.Template] {
	return rapid.Custom(func(t *rapid.T) *template.Template {
		name := rapid.StringMatching(`[A-Za-z][A-Za-z0-9]{0,8}`)
		names := func(what string) []string { return rapid.SliceOfNDistinct(name, 0, 3, rapid.ID).Draw(t, what) }
		parsed := &template.Template{
			File: "t", Description: anyText().Draw(t, "description"), Metadata: template.FromInterface(map[string]any{"a": 1}),
			Parameters: map[string]*template.Parameter{}, Resources: map[string]*template.Resource{},
			Outputs: map[string]*template.Output{}, Conditions: map[string]*template.Node{},
		}
		for _, id := range names("parameters") {
			length := rapid.IntRange(0, 9).Draw(t, "length")
			parsed.Parameters[id] = &template.Parameter{
				Name: id, Type: "String", NoEcho: rapid.Bool().Draw(t, "no echo"), MinLength: &length,
				Default: template.NewString(anyText().Draw(t, "default")), AllowedValues: rapid.SliceOfN(anyText(), 0, 2).Draw(t, "allowed"),
			}
		}
		for _, id := range names("conditions") {
			parsed.Conditions[id] = template.FromInterface(map[string]any{"Fn::Not": []any{map[string]any{"Condition": id}}})
		}
		for _, id := range names("resources") {
			parsed.Resources[id] = &template.Resource{
				LogicalID: id, Type: "AWS::SQS::Queue", DependsOn: names("depends on"), DeletionPolicy: "Retain",
				Properties: plain(anyMap(3).Draw(t, "properties")),
			}
		}
		for _, id := range names("outputs") {
			parsed.Outputs[id] = &template.Output{Name: id, Value: template.FromInterface(anyNode(2).Draw(t, "value").Interface())}
		}
		return parsed
	})
}

// plain keeps the top level a map even if its only key is the name of an intrinsic.
func plain(n *template.Node) *template.Node {
	read := template.FromInterface(n.Interface())
	if read.Kind != template.Map {
		return &template.Node{Kind: template.Map}
	}
	return read
}

func TestPrintedTemplateParsesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		original := anyTemplate().Draw(t, "template")
		again, err := template.Parse("t", original.YAML())
		if err != nil {
			t.Fatalf("does not parse: %v\n%s", err, original.YAML())
		}
		if string(again.CanonicalJSON()) != string(original.CanonicalJSON()) {
			t.Fatalf("means something else:\n%s\n%s\n%s", original.YAML(), original.CanonicalJSON(), again.CanonicalJSON())
		}
		again.Check()
	})
}

func FuzzParse(f *testing.F) {
	f.Add(read(f, "parse/every-intrinsic.yaml"))
	f.Add(read(f, "parse/every-intrinsic.golden.json"))
	f.Add([]byte("Resources: &a {b: *a, !Ref c: !GetAtt d}"))
	f.Add([]byte(`{"Resources": {"A": {"Fn::ForEach::X": [1, {"Fn::Sub": ["${a", null]}]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		parsed, err := template.Parse("t", data)
		if err != nil {
			if parsed != nil {
				t.Error("a template together with an error")
			}
			return
		}
		parsed.Check()
		parsed.Dependencies()
		again, err := template.Parse("t", parsed.YAML())
		if err != nil {
			t.Fatalf("what was printed does not parse: %v\n%s", err, parsed.YAML())
		}
		if again.Digest() != parsed.Digest() {
			t.Fatalf("printing changed the meaning:\n%s\n%s\n%s", parsed.YAML(), parsed.CanonicalJSON(), again.CanonicalJSON())
		}
	})
}
