package dynamic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cfn/dynamic"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
)

// FuzzPieces checks any template without a panic. No two texts of a template that passes can be put
// together to a dynamic reference.
func FuzzPieces(f *testing.F) {
	f.Add(`{"Resources":{"A":{"Type":"AWS::SNS::Topic","Properties":{"TopicName":{"Fn::Join":["",["{{res","olve:ssm:a}}"]]}}}}}`)
	f.Add(`{"Resources":{"A":{"Type":"AWS::SNS::Topic","Properties":{"TopicName":{"Fn::Sub":"{{resolve${AWS::NoValue}:ssm:a}}"}}}}}`)
	f.Add(`{"Resources":{"A":{"Type":"AWS::SNS::Topic","Properties":{"{{RESOLVE:ssm:a}}":"b"}}}}`)
	f.Add("Resources:\n  A:\n    Type: AWS::SNS::Topic\n    Properties:\n      TopicName: !Sub ['{${x}resolve:ssm:a}}', {x: '{'}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := template.Parse("template", []byte(text))
		if err != nil {
			return
		}
		complete := dynamic.Complete(parsed)
		if len(dynamic.Pieces(parsed)) > 0 {
			return
		}
		if len(complete) > 0 {
			t.Errorf("it has no pieces of a reference, but a reference: %v", complete)
		}
		var texts []string
		parsed.Node().Walk(func(n *template.Node) bool {
			if n.Kind == template.String {
				texts = append(texts, n.Text)
			}
			return true
		})
		for i, first := range texts {
			for _, second := range texts[max(0, i-8):min(len(texts), i+8)] {
				if joined := first + second; dynamic.In(joined) {
					t.Errorf("%q and %q are a reference", first, second)
				}
			}
		}
	})
}

// FuzzValues checks any values without a panic: what passes contains no reference anywhere.
func FuzzValues(f *testing.F) {
	f.Add(`{"a":["{{resolve:ssm:a}}",{"Fn::Sub":"b"}],"{{Resolve:b":1}`)
	f.Add(`{"a":"{","b":"{resolve:ssm:c}}"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var value any
		if json.Unmarshal([]byte(text), &value) != nil || len(dynamic.Values("spec", value, nil)) > 0 {
			return
		}
		plain, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(string(plain)), "{{resolve:") {
			t.Errorf("%s passes", plain)
		}
	})
}
