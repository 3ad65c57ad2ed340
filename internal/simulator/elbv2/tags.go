package elbv2

import (
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// tagRules are the errors for tags. The one for reserved keys is on record, with its words; those of
// the lengths are not.
// https://github.com/aws/elastic-load-balancing-tools/issues/6
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_AddTags.html
var tagRules = tagging.Rules{
	Reserved: tagging.Refusal{Code: "ValidationError", Message: "Tag key '{key}' cannot start with 'aws:'"},
	Key:      tagging.Refusal{Code: "ValidationError", Message: "Tag key '{key}' must have 1 to 128 characters"},
	Value:    tagging.Refusal{Code: "ValidationError", Message: "The value of tag '{key}' cannot be longer than 256 characters"},
	TooMany:  tagging.Refusal{Code: "TooManyTags", Message: "You've reached the limit on the number of tags for this resource."},
}

// tagsOf converts tags to a map.
func tagsOf(list []types.Tag) (map[string]string, error) {
	tags := make(map[string]string, len(list))
	for _, t := range list {
		if _, twice := tags[deref(t.Key)]; twice {
			return nil, wire.Errorf("DuplicateTagKeys", "A tag key was specified more than once")
		}
		tags[deref(t.Key)] = deref(t.Value)
	}
	return tags, nil
}

// checkTags returns an error if a new resource cannot have the tags of a request.
func checkTags(list []types.Tag) error {
	tags, err := tagsOf(list)
	if err != nil {
		return err
	}
	return tagRules.Check(nil, tags)
}
