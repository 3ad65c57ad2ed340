package hostile

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// values draws values that a schema allows in most cases. Strings come from words: what others have
// in AWS, and texts at the limits of what parsers expect.
type values struct {
	random *rand.Rand
	words  []string
}

// texts are words of every run.
var texts = []string{
	"", "-", "a", "0", "-1", "..", "../../etc/passwd", strings.Repeat("a", 63), strings.Repeat("b", 253), strings.Repeat("c", 5000),
	"{{resolve:ssm-secure:/prod/password}}", "{{ .spec }}", "{{", "${AWS::AccountId}", "!GetAtt Queue.Arn", "a: {b: c}\nd: e", "\u202e\u0000x",
	"*", "arn:aws:iam::aws:policy/AdministratorAccess", "arn:aws:sqs:::", "999999999999", "10.0.0.0/8", "2026-01-01T00:00:00Z", "5m", "100%",
	"CREATE_COMPLETE", "DELETE_COMPLETE", "UPDATE_ROLLBACK_FAILED", "REVIEW_IN_PROGRESS", "none",
}

func (v *values) word() string {
	if v.random.IntN(3) == 0 {
		return pick(v.random, texts...)
	}
	return pick(v.random, v.words...)
}

// of draws a value of a schema.
func (v *values) of(s *apiextensionsv1.JSONSchemaProps, depth int) any {
	switch {
	case len(s.Enum) > 0:
		var value any
		_ = json.Unmarshal(s.Enum[v.random.IntN(len(s.Enum))].Raw, &value) // the API server has accepted it
		return value
	case s.XIntOrString:
		return pick[any](v.random, v.integer(s), v.word())
	case s.Type == "object":
		return v.object(s, depth)
	case s.Type == "array":
		return v.array(s, depth)
	case s.Type == "integer", s.Type == "number":
		return v.integer(s)
	case s.Type == "boolean":
		return v.random.IntN(2) == 0
	case s.Type == "":
		return map[string]any{v.word(): v.word()}
	default:
		return v.text(s)
	}
}

func (v *values) text(s *apiextensionsv1.JSONSchemaProps) string {
	if s.Format == "date-time" {
		return pick(v.random, "1970-01-01T00:00:00Z", "2026-11-25T00:00:00Z", "9999-12-31T23:59:59Z")
	}
	text := v.word()
	if s.MaxLength != nil && int64(len(text)) > *s.MaxLength && v.random.IntN(8) > 0 {
		text = strings.ToValidUTF8(text[:*s.MaxLength], "")
	}
	return text
}

func (v *values) integer(s *apiextensionsv1.JSONSchemaProps) int64 {
	least, most := int64(-1), int64(1<<31-1)
	if s.Minimum != nil {
		least = int64(*s.Minimum)
	}
	if s.Maximum != nil {
		most = int64(*s.Maximum)
	}
	return pick(v.random, least, most, least+v.random.Int64N(most-least+1), min(least+v.random.Int64N(4), most))
}

func (v *values) array(s *apiextensionsv1.JSONSchemaProps, depth int) []any {
	all := []any{}
	for range v.random.IntN(4) {
		if s.Items == nil || s.Items.Schema == nil || depth == 0 {
			return all
		}
		all = append(all, v.of(s.Items.Schema, depth-1))
	}
	return all
}

func (v *values) object(s *apiextensionsv1.JSONSchemaProps, depth int) map[string]any {
	made := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		if slices.Contains(s.Required, name) || depth > 0 && v.random.IntN(3) == 0 {
			made[name] = v.of(&property, depth-1)
		}
	}
	if extra := s.AdditionalProperties; extra != nil && extra.Schema != nil {
		for range v.random.IntN(3) {
			made[v.word()] = v.of(extra.Schema, depth-1)
		}
	}
	if len(s.Properties) == 0 && s.AdditionalProperties == nil { // the schema leaves it open, as it does for records
		for range v.random.IntN(4) {
			made[pick(v.random, recordFields...)] = pick[any](v.random, v.word(), v.integer(s), true, nil)
		}
	}
	return made
}

// recordFields are fields of the engine's records, and names of outputs of stacks.
var recordFields = []string{
	"stackID", "status", "digest", "pendingDigest", "failedDigest", "changed", "token", "attempts", "deleteAttempts", "terminationProtection",
	"deleting", "changeSet", "proposal", "proposedFrom", "revision", "retries", "startedAt", "nextAttempt", "outputsDigest", "bundle",
	"Bucket", "VPC", "queueURL", "queueARN", "topicARN", "KeyArn",
}

// edit changes one random value below an object of a schema, at any depth.
func (v *values) edit(s *apiextensionsv1.JSONSchemaProps, into map[string]any) {
	if len(s.Properties) == 0 {
		maps.Copy(into, v.object(s, 2))
		return
	}
	name := pick(v.random, slices.Sorted(maps.Keys(s.Properties))...)
	property := s.Properties[name]
	inner, ok := into[name].(map[string]any)
	switch {
	case ok && v.random.IntN(4) > 0:
		v.edit(&property, inner)
	case v.random.IntN(5) == 0:
		delete(into, name)
	default:
		into[name] = v.of(&property, 3)
	}
}
