package property_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
)

type properties struct {
	Name   string
	Count  int32
	On     *bool
	Policy property.Document
	List   []string
	Tags   []property.Tag
	ID     string `cfn:"Id"`
}

func TestDecode(t *testing.T) {
	on := true
	tests := []struct {
		name string
		from map[string]any
		want properties
	}{
		{"a number as text, as from a parameter", map[string]any{"Count": "5"}, properties{Count: 5}},
		{"a number", map[string]any{"Count": json.Number("5")}, properties{Count: 5}},
		{"a boolean as text", map[string]any{"On": "true"}, properties{On: &on}},
		{"a document as an object", map[string]any{"Policy": map[string]any{"a": 1.0}}, properties{Policy: `{"a":1}`}},
		{"a document as its text", map[string]any{"Policy": `{"a": 1}`}, properties{Policy: `{"a": 1}`}},
		{"one value for a list", map[string]any{"List": "a"}, properties{List: []string{"a"}}},
		{
			"objects in a list",
			map[string]any{"Tags": []any{map[string]any{"Key": "k", "Value": 1.0}}},
			properties{Tags: []property.Tag{{Key: "k", Value: "1"}}},
		},
		{"a name that Go spells otherwise", map[string]any{"Id": "x"}, properties{ID: "x"}},
		{"null is absent", map[string]any{"Name": nil}, properties{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got properties
			if err := property.Decode(tt.from, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	var got properties
	var e *resource.Error
	if err := property.Decode(map[string]any{"Count": "many"}, &got); !errors.As(err, &e) || e.Code != resource.InvalidRequest {
		t.Errorf("a number that is none: %v", err)
	}
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-name.html
func TestNamesFitAndContainTheirSource(t *testing.T) {
	form := regexp.MustCompile(`^[a-z]+-[a-z]+-[0-9A-Za-z]{12}\.fifo$`)
	rapid.Check(t, func(t *rapid.T) {
		r := resource.Request{
			StackName: rapid.StringMatching(`[a-z]{1,128}`).Draw(t, "stack"),
			LogicalID: rapid.StringMatching(`[a-z]{1,255}`).Draw(t, "logical"),
		}
		limit := rapid.IntRange(64, 255).Draw(t, "limit")
		name := property.Name(r, limit, ".fifo")
		if len(name) > limit || !form.MatchString(name) {
			t.Fatalf("%s of %d characters does not fit %d", name, len(name), limit)
		}
	})
}
