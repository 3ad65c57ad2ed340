package template_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

const queue = "\n  Q: {Type: AWS::SQS::Queue}\n"

func TestCheck(t *testing.T) {
	for _, c := range []struct{ reason, text, want string }{
		{"Ref to nothing, with the likely name", "Resources:" + queue + "  R: {Type: T, Properties: {A: !Ref QQ}}", "t:3:32: there is no parameter or resource QQ; did you mean Q?"},
		{"a misspelled pseudo parameter", "Resources:\n  R: {Type: T, Properties: {A: !Ref AWS::Regoin}}", "t:2:32: there is no parameter or resource AWS::Regoin; did you mean AWS::Region?"},
		{"a variable of Fn::Sub", "Resources:\n  R: {Type: T, Properties: {A: !Sub 'x${Qeue}'}}\n  Queue: {Type: T}", "t:2:32: there is no parameter or resource Qeue; did you mean Queue?"},
		{"an attribute in Fn::Sub", "Resources:\n  R: {Type: T, Properties: {A: !Sub 'x${Qeue.Arn}'}}\n  Queue: {Type: T}", "t:2:32: there is no resource Qeue; did you mean Queue?"},
		{"GetAtt of a parameter", "Parameters:\n  P: {Type: String}\nResources:\n  R: {Type: T, Properties: {A: !GetAtt P.Arn}}", "t:4:32: there is no resource P"},
		{"the condition of a resource", "Conditions:\n  IsProd: !Equals [a, a]\nResources:\n  R: {Type: T, Condition: IsPrd}", "t:4:3: there is no condition IsPrd; did you mean IsProd?"},
		{"the condition of Fn::If", "Resources:\n  R: {Type: T, Properties: {A: !If [C, a, b]}}", "t:2:37: there is no condition C"},
		{"a condition within a condition", "Conditions:\n  C: !Not [!Condition D]\nResources:" + queue, "t:2:12: there is no condition D"},
		{"an unknown mapping", "Mappings: {ByEnv: {dev: {a: b}}}\nResources:\n  R: {Type: T, Properties: {A: !FindInMap [ByEnvs, dev, a]}}", "t:3:44: there is no mapping ByEnvs; did you mean ByEnv?"},
		{"an unknown key of a mapping", "Mappings: {ByEnv: {dev: {a: b}}}\nResources:\n  R: {Type: T, Properties: {A: !FindInMap [ByEnv, devv, a]}}", "t:3:51: mapping ByEnv has no key devv; did you mean dev?"},
		{"an unknown second key", "Mappings: {ByEnv: {dev: {a: b}}}\nResources:\n  R: {Type: T, Properties: {A: !FindInMap [ByEnv, dev, b]}}", "t:3:56: mapping ByEnv has no key dev/b"},
		{"DependsOn nothing", "Resources:" + queue + "  R: {Type: T, DependsOn: [Q, S]}", "t:3:3: resource R depends on S, which is not a resource of this template"},
		{"DependsOn itself is a cycle of one", "Resources:\n  R: {Type: T, DependsOn: R}", "t:2:3: circular dependency between resources: R needs R\nt:2:3: resource R depends on itself"},
		{
			"a cycle is named in full, whichever way it is made",
			"Resources:\n  A: {Type: T, DependsOn: B}\n  B: {Type: T, Properties: {X: !GetAtt C.Arn}}\n  C: {Type: T, Properties: {X: !Sub '${A}'}}",
			"t:2:3: circular dependency between resources: A needs B, B needs C, C needs A",
		},
		{
			"two cycles are two problems",
			"Resources:\n  A: {Type: T, DependsOn: B}\n  B: {Type: T, DependsOn: A}\n  C: {Type: T, DependsOn: D}\n  D: {Type: T, DependsOn: C}",
			"t:2:3: circular dependency between resources: A needs B, B needs A\nt:4:3: circular dependency between resources: C needs D, D needs C",
		},
		{"a circular dependency of conditions", "Conditions:\n  A: !Not [!Condition B]\n  B: !Not [!Condition A]\nResources:" + queue, "t:2:6: circular dependency between conditions: A needs B, B needs A"},
		{"null is refused by CloudFormation", "Resources:\n  R: {Type: T, Properties: {A: ~}}", "t:2:32: null values are not allowed in templates"},
		{"conditions cannot refer to resources", "Conditions:\n  C: !Equals [!Ref Q, a]\nResources:" + queue, "t:2:15: conditions and rules cannot refer to a resource such as Q; they can refer only to parameters"},
		{"Equals outside conditions", "Resources:\n  R: {Type: T, Properties: {A: !Equals [a, b]}}", "t:2:32: Fn::Equals may be used only in Conditions and Rules; use Fn::If with the name of a condition"},
		{"a rule's function outside rules", "Resources:\n  R: {Type: T, Properties: {A: !RefAll T}}", "t:2:32: Fn::RefAll may be used only in Rules"},
		{"too few arguments", "Resources:\n  R: {Type: T, Properties: {A: !Join [a]}}", "t:2:32: wrong arguments for Fn::Join; the syntax is !Join [delimiter, list]"},
		{"Join wants a list", "Resources:\n  R: {Type: T, Properties: {A: !Join ['', a]}}", "t:2:43: argument 2 of Fn::Join must be a list, not a string; the syntax is !Join [delimiter, list]"},
		{"Select wants a number", "Resources:\n  R: {Type: T, Properties: {A: !Select [a, [b]]}}", "t:2:41: argument 1 of Fn::Select must be a number, not a string; the syntax is !Select [index, list]"},
		{"a variable that Fn::Sub does not use", "Resources:\n  R: {Type: T, Properties: {A: !Sub ['${AWS::Region}', {B: c}]}}", "t:2:57: the text of Fn::Sub does not use the variable B"},
		{"shell variables in a Fn::Sub", "Resources:\n  R: {Type: T, Properties: {A: !Sub 'echo ${X:-1}'}}", "t:2:32: the variable ${X:-1} of Fn::Sub may hold only letters, digits, '_', '.' and ':'; write ${!X:-1} to keep the text as it is"},
		{"a condition must be a function", "Conditions: {C: prod}\nResources:" + queue, "t:1:17: a condition is one of Fn::And, Fn::Equals, Fn::Not, Fn::Or and Condition, not a string"},
		{"a parameter's type", "Parameters: {P: {Type: string}}\nResources:" + queue, "t:1:14: parameter P has the unknown type string; did you mean String?"},
		{"a default that violates its constraints", "Parameters: {P: {Type: String, Default: c, AllowedValues: [a, b]}}\nResources:" + queue, `t:1:41: the value "c" of parameter P is not one of a, b`},
		{"names are alphanumeric", "Resources:\n  my-queue: {Type: T}", "t:2:3: the name of resource my-queue may hold only letters and digits"},
		{"a misspelled policy would lose data", "Resources:\n  R: {Type: T, DeletionPolicy: Retian}", "t:2:3: DeletionPolicy Retian of resource R is not one of Delete, Retain, RetainExceptOnCreate, Snapshot; did you mean Retain?"},
		{
			"a snapshot of a queue", "Resources:\n  R: {Type: AWS::SQS::Queue, DeletionPolicy: Snapshot, UpdateReplacePolicy: Snapshot}",
			"t:2:3: DeletionPolicy Snapshot of resource R: CloudFormation takes no snapshot of this AWS::SQS::Queue; did you mean Retain?\n" +
				"t:2:3: UpdateReplacePolicy Snapshot of resource R: CloudFormation takes no snapshot of this AWS::SQS::Queue; did you mean Retain?",
		},
		{"a snapshot of a database", "Resources:\n  R: {Type: AWS::RDS::DBInstance, DeletionPolicy: Snapshot}", ""},
		{
			"a snapshot of an instance of a cluster",
			"Resources:\n  R: {Type: AWS::RDS::DBInstance, DeletionPolicy: Snapshot, Properties: {DBClusterIdentifier: c}}",
			"t:2:3: DeletionPolicy Snapshot of resource R: CloudFormation takes no snapshot of this AWS::RDS::DBInstance; did you mean Retain?",
		},
		{"no resource at all", "Parameters: {P: {Type: String}}", "t:1:1: a template needs at least one resource"},
		{"another version", "AWSTemplateFormatVersion: 2010-09-10\nResources:" + queue, "t:1:1: AWSTemplateFormatVersion 2010-09-10 is unknown; the only version is 2010-09-09"},
		{"language extensions add no names", "Transform: AWS::LanguageExtensions\nResources:\n  R: {Type: T, Properties: {A: !Ref Added}}", "t:3:32: there is no parameter or resource Added"},
		{"language extensions compute arguments", "Transform: AWS::LanguageExtensions\nResources:\n  R: {Type: T, Properties: {A: !If {Fn::Split: [a, b]}}}", ""},
		{"a macro may add names", "Transform: MyMacro\nResources:\n  R: {Type: T, Properties: {A: !Ref Added}}", ""},
	} {
		parsed, err := template.Parse("t", []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.reason, err)
			continue
		}
		if diff := cmp.Diff(c.want, parsed.Check().Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

func TestLimits(t *testing.T) {
	var text strings.Builder
	text.WriteString("Resources:\n")
	for i := range template.MaxResources + 1 {
		fmt.Fprintf(&text, "  R%d: {Type: T, Metadata: %q}\n", i, strings.Repeat("x", 2100))
	}
	parsed, err := template.Parse("t", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	got := parsed.Check().Error()
	for _, want := range []string{"the template has 501 resources; CloudFormation allows 500", "bytes; CloudFormation allows 1000000"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not said in %q", want, got)
		}
	}
}

func TestDependencies(t *testing.T) {
	parsed, err := template.Parse("t", []byte(`
Conditions: {C: !Equals [a, a]}
Resources:
  A:
    Type: T
    DependsOn: D
    Properties: {X: !If [C, !Ref B, !Sub ["${V}${C.Arn}", {V: !GetAtt E.Arn}]]}
  B: {Type: T}
  C: {Type: T, Metadata: {X: !Ref B}}
  D: {Type: T, Properties: {X: !Ref AWS::Region}}
  E: {Type: T, Properties: {X: !Sub "${!A}"}}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"A": {"B", "C", "D", "E"}, "B": nil, "C": {"B"}, "D": nil, "E": nil}
	if diff := cmp.Diff(want, parsed.Dependencies()); diff != "" {
		t.Error(diff)
	}
}

func TestAccepts(t *testing.T) {
	one, three := 1.0, 3
	for _, c := range []struct {
		reason    string
		parameter template.Parameter
		value     string
		want      string
	}{
		{"a number", template.Parameter{Name: "P", Type: "Number"}, "1.5", ""},
		{"not a number", template.Parameter{Name: "P", Type: "Number"}, "x", `the value "x" of parameter P is not a number`},
		{"below the minimum", template.Parameter{Name: "P", Type: "Number", MinValue: &one}, "0", `the value "0" of parameter P is less than 1`},
		{"every element of a list is checked", template.Parameter{Name: "P", Type: "List<Number>"}, "1, x", `the value "x" of parameter P is not a number`},
		{"the whole value must match", template.Parameter{Name: "P", Type: "String", AllowedPattern: "[a-z]+"}, "ab1", `the value "ab1" of parameter P does not match [a-z]+`},
		{"a secret is not shown", template.Parameter{Name: "P", Type: "String", NoEcho: true, MinLength: &three}, "ab", `the value (not shown) of parameter P is shorter than 3`},
		{"the author's explanation is added", template.Parameter{Name: "P", Type: "String", MaxLength: &three, ConstraintDescription: "keep it short"}, "abcd", `the value "abcd" of parameter P is longer than 3: keep it short`},
	} {
		got := ""
		if err := c.parameter.Accepts(c.value); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestParseSub(t *testing.T) {
	want := []template.SubPart{
		{Literal: "a$"},
		{Variable: "B"},
		{Literal: "${C}${}${"},
	}
	if diff := cmp.Diff(want, template.ParseSub("a$${B}${!C}${}${")); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkParse(b *testing.B) {
	data := read(b, "parse/queue.yaml")
	for b.Loop() {
		if _, err := template.Parse("queue.yaml", data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	parsed, err := template.Parse("queue.yaml", read(b, "parse/queue.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		parsed.Digest()
	}
}
