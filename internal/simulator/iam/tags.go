package iam

import (
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// tagRules are the errors for tags. The codes are documented. No words of AWS are on record but those
// of its validation.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_tags.html#id_tags_rules
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_TagRole.html
var tagRules = tagging.Rules{
	Reserved: tagging.Refusal{Code: "InvalidInput", Message: "aws: prefixed tag key names are not allowed for external use."},
	Key:      tagging.LongKey("ValidationError", "key"),
	Value:    tagging.LongValue("ValidationError", "value"),
	TooMany:  tagging.Refusal{Code: "LimitExceeded", Message: "Cannot exceed quota for TagsPerResource: 50", Status: http.StatusConflict},
}

// checkTags returns an error if the tags cannot be added to those that a resource has. Keys that
// differ only in case are the same.
// https://github.com/github-aws-runners/terraform-aws-github-runner/pull/1346
func checkTags(has map[string]string, added []types.Tag) error {
	seen := map[string]bool{}
	for _, t := range added {
		key := strings.ToLower(aws.ToString(t.Key))
		if seen[key] {
			return wire.Errorf("InvalidInput", "Duplicate tag keys found. Please note that Tag keys are case insensitive.")
		}
		seen[key] = true
	}
	return tagRules.Check(has, tagMap(added))
}

// setTags adds tags or changes those whose key differs only in case.
func (e *entity) setTags(added []types.Tag) error {
	if err := checkTags(e.tags, added); err != nil {
		return err
	}
	for _, t := range added {
		for key := range e.tags {
			if strings.EqualFold(key, aws.ToString(t.Key)) {
				delete(e.tags, key)
			}
		}
		e.tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return nil
}
