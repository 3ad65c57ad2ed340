package eval_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/eval"
)

// FuzzEvaluate evaluates any template without a panic. The results are plain values.
func FuzzEvaluate(f *testing.F) {
	for _, property := range []string{
		`!Sub ["${Text}-${!x}-${A.B}", {Text: mine}]`, `!Join [",", !Split [",", "x,y"]]`, `!Select [99, !Ref List]`,
		`!Select [-1, [a]]`, `!Cidr ["10.0.0.0/8", 256, 99]`, `!Cidr ["::/0", 1, 128]`, `!FindInMap [a, b, c, {DefaultValue: d}]`,
		`!If [C, a, !Ref "AWS::NoValue"]`, `!Base64 {"Fn::Sub": "${List}"}`, `{"Fn::Length": [1, 2]}`, `{"Fn::ToJsonString": {a: !Ref List}}`,
		`!GetAZs {Ref: "AWS::Region"}`, `!ImportValue {"Fn::Join": ["", [a]]}`, `"{{resolve:ssm:{{resolve:ssm:a}}}}"`, `!Equals [a, a]`,
	} {
		f.Add("Conditions: {C: !Equals [a, b]}\nResources:\n  R:\n    Type: AWS::SQS::Queue\n    Properties: {P: " + property + "}\n")
	}
	f.Add("Conditions: {A: !Condition B, B: !Condition A}\nResources: {R: {Type: 'AWS::SQS::Queue'}}\n")
	f.Add("Conditions: {A: !Not [!And [!Condition A, !Condition A]]}\nResources: {R: {Type: 'AWS::SQS::Queue', Condition: A}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := template.Parse("test.yaml", []byte(text))
		if err != nil || strings.Count(text, "Cidr") > 2 {
			return
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
		if s.EvaluateConditions() != nil {
			return
		}
		for name, resource := range parsed.Resources {
			value, err := s.Value(resource.Properties)
			if err != nil {
				continue
			}
			if _, err := json.Marshal(value); err != nil {
				t.Errorf("the properties of %s are %v: %v", name, value, err)
			}
		}
	})
}
