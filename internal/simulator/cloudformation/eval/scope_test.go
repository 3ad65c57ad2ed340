package eval_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/eval"
)

// valueOf evaluates the property P of the only resource of a template.
func valueOf(t *testing.T, head, property string, edit func(*eval.Scope)) (any, error) {
	t.Helper()
	body := head + "\nResources:\n  R:\n    Type: AWS::SQS::Queue\n    Properties:\n      P: " + property + "\n  Other:\n    Type: AWS::SQS::Queue\n"
	parsed, err := template.Parse("test.yaml", []byte(body))
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	s := &eval.Scope{
		Template:   parsed,
		Pseudo:     map[string]any{"AWS::Region": "eu-west-1"},
		Parameters: map[string]any{"Text": "x", "List": []any{"a", "b"}},
		Ref:        func(id string) (any, error) { return eval.Unknown{Resource: id}, nil },
		GetAtt:     func(id, attribute string) (any, error) { return eval.Unknown{Resource: id, Attribute: attribute}, nil },
		Zones:      func(region string) []string { return []string{region + "a", region + "b"} },
		Import:     func(name string) (any, error) { return "imported " + name, nil },
		Resolve:    func(reference string) (string, error) { return "<" + reference + ">", nil },
	}
	if edit != nil {
		edit(s)
	}
	if err := s.EvaluateConditions(); err != nil {
		return nil, err
	}
	v, err := s.Value(parsed.Resources["R"].Properties)
	if err != nil {
		return nil, err
	}
	return v.(map[string]any)["P"], nil
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
func TestValues(t *testing.T) {
	cases := []struct {
		why, property string
		want          any
	}{
		{"NoValue leaves an item out", `[a, !Ref "AWS::NoValue", b]`, []any{"a", "b"}},
		{"NoValue leaves a property out", `{a: !Ref "AWS::NoValue"}`, map[string]any{}},
		{"an escaped variable stays", `!Sub "${!Text}-${Text}"`, "${Text}-x"},
		{"a map's variable wins over a parameter", `!Sub ["${Text}", {Text: mine}]`, "mine"},
		{"what is unknown stays unknown in a text", `!Sub "${Other.Arn}/x"`, eval.Unknown{Resource: "Other", Attribute: "Arn"}},
		{"what is unknown stays unknown in a join", `!Join ["", [a, !Ref Other]]`, eval.Unknown{Resource: "Other"}},
		{"a list parameter can be joined", `!Join [",", !Ref List]`, "a,b"},
		{"an empty text splits into one", `!Split [",", ""]`, []any{""}},
		{"zones of a region that is named", `!GetAZs us-east-1`, []any{"us-east-1a", "us-east-1b"}},
		{"zones of this region", `!GetAZs ""`, []any{"eu-west-1a", "eu-west-1b"}},
		{"an import", `!ImportValue name`, "imported name"},
		{"a dynamic reference within a text", `"a{{resolve:ssm:b:1}}c"`, "a<ssm:b:1>c"},
		{"IPv4 blocks", `!Cidr [10.0.0.0/24, 2, 5]`, []any{"10.0.0.0/27", "10.0.0.32/27"}},
		{"IPv6 blocks", `!Cidr ["2001:db8::/56", 2, 64]`, []any{"2001:db8::/64", "2001:db8:0:1::/64"}},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			got, err := valueOf(t, "", c.property, nil)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%#v %v, want %#v", got, err, c.want)
			}
		})
	}
}

func TestFaultyFunctions(t *testing.T) {
	cases := []struct{ why, property, message string }{
		{"an index beyond the list", `!Select [5, [a]]`, "Template error: Fn::Select cannot select nonexistent value at index 5"},
		{"a key that no map has", `!FindInMap [None, a, b]`, "Template error: Unable to get mapping for None::a::b"},
		{"a block without room", `!Cidr [10.0.0.0/24, 300, 8]`, "has no room"},
		{"a list within a text", `!Sub "${List}"`, "variable List in Fn::Sub expression does not resolve to a string"},
		{"a condition that is not there", `!If [None, a, b]`, "unresolved condition dependency None in Fn::If"},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			_, err := valueOf(t, "", c.property, nil)
			if err == nil || !strings.Contains(err.Error(), c.message) {
				t.Errorf("%v, want %s", err, c.message)
			}
		})
	}
}

func TestCircularConditionsAreRefused(t *testing.T) {
	_, err := valueOf(t, "Conditions:\n  A: !Not [!Condition B]\n  B: !Not [!Condition A]", "x", nil)
	if err == nil || !strings.Contains(err.Error(), "Circular dependency") {
		t.Errorf("%v", err)
	}
}

func TestMacrosAreRefused(t *testing.T) {
	_, err := valueOf(t, "", `{"Fn::Transform": {Name: Mine, Parameters: {}}}`, nil)
	if err == nil || !strings.Contains(err.Error(), "Mine") {
		t.Errorf("%v", err)
	}
}
