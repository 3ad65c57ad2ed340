package template_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/golden"
)

func TestParsePrintsCanonically(t *testing.T) {
	parsed, err := template.Parse("every-intrinsic.yaml", read(t, "parse/every-intrinsic.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "parse/every-intrinsic.golden.yaml", parsed.YAML())
	golden.Equal(t, "parse/every-intrinsic.golden.json", parsed.JSON())

	for name, printed := range map[string][]byte{"YAML": parsed.YAML(), "JSON": parsed.JSON(), "compact JSON": parsed.CanonicalJSON()} {
		again, err := template.Parse("printed", printed)
		if err != nil {
			t.Fatalf("what is printed as %s does not parse: %v", name, err)
		}
		if again.Digest() != parsed.Digest() {
			t.Errorf("%s means something else after printing:\n%s", name, cmp.Diff(string(parsed.JSON()), string(again.JSON())))
		}
	}
	if problems := parsed.Check(); len(problems) > 0 {
		t.Errorf("the template is right, but: %v", problems)
	}
}

func TestDigestIgnoresForm(t *testing.T) {
	const minimal = `{"Resources":{"Q":{"Type":"AWS::SQS::Queue","Properties":{"A":{"Fn::GetAtt":["T","Arn"]},"B":[{"Ref":"T"}]}},"T":{"Type":"AWS::SNS::Topic"}}}`
	want := digest(t, minimal)
	for name, text := range map[string]string{
		"short forms":             "Resources:\n  Q: {Type: AWS::SQS::Queue, Properties: {A: !GetAtt T.Arn, B: [!Ref T]}}\n  T: {Type: AWS::SNS::Topic}\n",
		"another order":           "Resources:\n  T: {Type: AWS::SNS::Topic}\n  Q: {Properties: {B: [!Ref T], A: !GetAtt [T, Arn]}, Type: AWS::SQS::Queue}\n",
		"GetAtt as one string":    strings.Replace(minimal, `["T","Arn"]`, `"T.Arn"`, 1),
		"JSON with tabs":          "\t" + strings.ReplaceAll(minimal, ",", ",\n\t"),
		"a byte order mark":       "\ufeff" + minimal,
		"YAML in flow style":      `{Resources: {Q: {Type: "AWS::SQS::Queue", Properties: {A: !GetAtt T.Arn, B: [!Ref T]}}, T: {Type: "AWS::SNS::Topic"}}}`,
		"comments and a document": "---\n# two resources\nResources:\n  Q: {Type: AWS::SQS::Queue, Properties: {A: !GetAtt T.Arn, B: [!Ref T]}} # one\n  T: {Type: AWS::SNS::Topic}\n",
	} {
		if got := digest(t, text); got != want {
			t.Errorf("%s: digest %s, want %s", name, got, want)
		}
	}
	if digest(t, strings.Replace(minimal, "SNS", "SQS", 1)) == want {
		t.Error("another resource type has the same digest")
	}
}

func digest(t *testing.T, text string) string {
	t.Helper()
	parsed, err := template.Parse("t", []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return parsed.Digest()
}

func TestParseProblems(t *testing.T) {
	for _, c := range []struct{ reason, text, want string }{
		{"a duplicate key", "Resources:\n  Q: {Type: A}\n  Q: {Type: B}\n", "t:3:3: duplicate key Q, first given at t:2:3"},
		{"JSON forbids duplicates only in spirit", `{"Resources": {"Q": {"Type": "A", "Type": "B"}}}`, "t:1:35: duplicate key Type, first given at t:1:22"},
		{"a misspelled section", "Resorces:\n  Q: {Type: A}\n", "t:1:1: a template has no section Resorces; did you mean Resources?"},
		{"a misspelled attribute", "Resources:\n  Q:\n    Type: A\n    Propertys: {}\n", "t:4:5: resource Q has an unknown attribute Propertys; did you mean Properties?"},
		{"a resource without type", "Resources:\n  Q: {Properties: {}}\n", "t:2:3: resource Q has no Type"},
		{"a misspelled function", "Resources:\n  Q: {Type: A, Properties: {B: !Reff C}}\n", "t:2:32: there is no function !Reff; did you mean !Ref?"},
		{"GetAtt needs two names", "Resources:\n  Q: {Type: A, Properties: {B: !GetAtt C}}\n", "t:2:32: Fn::GetAtt needs a resource and an attribute, as in !GetAtt Resource.Attribute"},
		{"CloudFormation has no aliases", "Resources:\n  Q: &x {Type: A}\n  R: *x\n", "t:3:6: CloudFormation has no YAML aliases; write the value of *x out"},
		{"CloudFormation has no merge keys", "Resources:\n  Q:\n    <<: {}\n    Type: A\n", "t:3:5: CloudFormation has no YAML merge keys; write the merged keys out"},
		{"bad YAML keeps its line", "Resources:\n  Q: [\n", "t:2:1: malformed YAML: did not find expected node content"},
		{"bad JSON keeps its place", "{\n  \"Resources\": ]}", "t:2:16: malformed JSON: invalid character ']' looking for beginning of value"},
		{"JSON cut short", `{"Resources": {`, "t:1:16: the JSON document ends too early"},
		{"an empty template", " \n", "t:1:1: the template is empty"},
		{"only a comment", "# nothing\n", "t:1:1: the template is empty"},
		{"a list", "- a\n", "t:1:1: a template is a map of sections, not a list"},
		{"two documents", "Resources: {}\n---\nResources: {}\n", "t:1:1: the file contains more than one YAML document; a template must be one document"},
		{"an invalid number", "Parameters:\n  P: {Type: String, MinLength: five}\n", "t:2:32: MinLength must be a number"},
		{"a default that is a list", "Parameters:\n  P: {Type: CommaDelimitedList, Default: [a]}\n", "t:2:42: the Default of parameter P must be a string or a number, not a list"},
		{"an output without value", "Outputs:\n  O: {Description: d}\n", "t:2:3: output O has no Value"},
	} {
		_, err := template.Parse("t", []byte(c.text))
		if _, ok := errors.AsType[template.Problems](err); !ok {
			t.Errorf("%s: error is %v, not Problems", c.reason, err)
			continue
		}
		if err.Error() != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.reason, err, c.want)
		}
	}
}

func TestScalars(t *testing.T) {
	for _, c := range []struct{ reason, yaml, want string }{
		{"YAML 1.1's booleans, which AWS's page names as the version read", "[yes, No, on, OFF, true]", "[true,false,true,false,true]"},
		{"quoted values are strings", `["yes", '5', "null"]`, `["yes","5","null"]`},
		{"a policy's Version is a string", "2012-10-17", `"2012-10-17"`},
		{"an account id keeps its zeros", "[012345670123, 000000000001]", `["012345670123","000000000001"]`},
		{"a file mode is not octal by accident", "0644", `"0644"`},
		{"numbers that JSON writes otherwise", "[0x1F, 1_000, +5, .5, 1e3]", "[31,1000,5,0.5,1e3]"},
		{"what JSON cannot write stays text", "[.inf, .nan, 1:30]", `[".inf",".nan","1:30"]`},
		{"null", "[~, null, ]", "[null,null]"},
		{"the scalar of a short form is a string", "!Base64 5", `{"Fn::Base64":"5"}`},
	} {
		node, err := template.ParseNode("t", []byte(c.yaml))
		if err != nil {
			t.Errorf("%s: %v", c.reason, err)
			continue
		}
		if got := string(node.AppendJSON(nil)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.reason, got, c.want)
		}
	}
}

func TestPositions(t *testing.T) {
	for name, text := range map[string]string{
		"YAML": "Resources:\n  Q:\n    Type: A\n    Properties:\n      B: !Ref C\n",
		"JSON": "{\"Resources\":\n  {\n\"Q\": {\"Type\": \"A\",\n \"Properties\": {\n      \"B\": {\"Ref\": \"C\"}}}}}",
	} {
		parsed, err := template.Parse("dir/t.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		properties := parsed.Resources["Q"].Properties
		if got := properties.Fields[0].KeyPos.String(); got != "dir/t.yaml:5:7" {
			t.Errorf("%s: the key is at %s, want dir/t.yaml:5:7", name, got)
		}
	}
}

func TestConditionIsAFunctionOnlyInConditions(t *testing.T) {
	parsed, err := template.Parse("t", []byte(`
Conditions:
  A: !Equals [a, b]
  B: !Not [{Condition: A}]
  C: {Condition: A}
Resources:
  R: {Type: T, Properties: {Statement: [{Condition: A}]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := parsed.Conditions["C"]; got.Kind != template.Intrinsic || got.Func != "Condition" {
		t.Errorf("a condition that names another is %v", got.Kind)
	}
	if got := parsed.Conditions["B"].Arg.Items[0]; got.Kind != template.Intrinsic {
		t.Errorf("an argument of Fn::Not is %v", got.Kind)
	}
	if got := parsed.Resources["R"].Properties.Get("Statement").Items[0]; got.Kind != template.Map {
		t.Errorf("a property named Condition makes its map %v", got.Kind)
	}
}
