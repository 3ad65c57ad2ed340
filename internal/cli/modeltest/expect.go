package modeltest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/schema"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// differs returns a sentence if the message lacks the expected part.
func (e *refusedError) differs(want string) []string {
	if strings.Contains(e.message, want) {
		return nil
	}
	return []string{fmt.Sprintf("it is refused with %q; the step expects %q", e.message, want)}
}

// differences returns sentences about what an object has that the step does not expect.
func (e *expectation) differences(before, now *made) []string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(e.Resources)) {
		at := "resources." + id
		resource := now.stack.Template.Resources[id]
		switch want := e.Resources[id]; {
		case want == nil && resource != nil:
			all = append(all, at+" exists, and must not")
		case want != nil && resource == nil:
			all = append(all, fmt.Sprintf("%s is missing; the stack has %s", at,
				strings.Join(slices.Sorted(maps.Keys(now.stack.Template.Resources)), ", ")))
		case want != nil:
			var properties any = map[string]any{}
			if resource.Properties != nil {
				_ = json.Unmarshal(resource.Properties.AppendJSON(nil), &properties) // a template that was sent is JSON
			}
			all = append(all, compare(at, want, properties)...)
		}
	}
	if e.Output != nil {
		var output any
		encoded, _ := json.Marshal(now.object.Status.Output) // its values are texts and numbers
		_ = json.Unmarshal(encoded, &output)
		all = append(all, compare("output", e.Output, output)...)
	}
	return append(all, e.replaced(before, now)...)
}

// replaced compares the resources that a change replaces with those that it may.
func (e *expectation) replaced(before, now *made) []string {
	var replaced, all []string
	if before != nil {
		for _, change := range diff.Compare(side(before.stack), side(now.stack), schema.Default()).Changes {
			if change.Action == diff.Replace || change.Action == diff.MayReplace {
				replaced = append(replaced, change.LogicalID)
			}
		}
	}
	for _, id := range replaced {
		if !slices.Contains(e.Replaces, id) {
			all = append(all, fmt.Sprintf("the change replaces %s; add it to replaces if that is right", id))
		}
	}
	for _, id := range e.Replaces {
		if !slices.Contains(replaced, id) {
			all = append(all, fmt.Sprintf("the change does not replace %s", id))
		}
	}
	return all
}

func side(of *render.Desired) diff.Side {
	return diff.Side{Template: of.Template, Parameters: of.Parameters, Tags: of.Tags}
}

// compare returns sentences about what a value lacks. Maps may have further keys; lists must have
// the same elements, of which those that are maps may have further keys.
func compare(at string, want, got any) []string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		var all []string
		for _, key := range slices.Sorted(maps.Keys(w)) {
			if value, exists := g[key]; exists || w[key] == nil {
				all = append(all, compare(at+"."+key, w[key], value)...)
			} else {
				all = append(all, fmt.Sprintf("%s.%s is not set; the step expects %s", at, key, text(w[key])))
			}
		}
		return all
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		var all []string
		for i := range w {
			all = append(all, compare(fmt.Sprintf("%s[%d]", at, i), w[i], g[i])...)
		}
		return all
	default:
		if text(want) == text(got) {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s is %s; the step expects %s", at, text(got), text(want))}
}

// text returns a value as JSON.
func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(encoded)
}
