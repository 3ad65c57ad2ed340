package elb

import (
	"context"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// tagRules are the errors for tags. The words for reserved keys are those that ELBv2 is on record
// with; those for the lengths are not on record.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/add-remove-tags.html
// https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/API_AddTags.html
var tagRules = tagging.Rules{
	Reserved: tagging.Refusal{Code: "ValidationError", Message: "Tag key '{key}' cannot start with 'aws:'"},
	Key:      tagging.Refusal{Code: "ValidationError", Message: "Tag key '{key}' must have 1 to 128 characters"},
	Value:    tagging.Refusal{Code: "ValidationError", Message: "The value of tag '{key}' cannot be longer than 256 characters"},
	TooMany: tagging.Refusal{
		Code: "TooManyTags", Message: "The quota for the number of tags that can be assigned to a load balancer has been reached.",
	},
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

func (s *Service) addTags(ctx context.Context, in *elb.AddTagsInput) (*elb.AddTagsOutput, error) {
	added, err := tagsOf(in.Tags)
	if err != nil {
		return nil, err
	}
	for _, name := range in.LoadBalancerNames {
		err := s.on(ctx, &name, func(_ *region, b *balancer) error {
			if err := tagRules.Check(b.tags, added); err != nil {
				return err
			}
			maps.Copy(b.tags, added)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (s *Service) removeTags(ctx context.Context, in *elb.RemoveTagsInput) (*elb.RemoveTagsOutput, error) {
	for _, name := range in.LoadBalancerNames {
		err := s.on(ctx, &name, func(_ *region, b *balancer) error {
			for _, t := range in.Tags {
				delete(b.tags, deref(t.Key))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (s *Service) describeTags(ctx context.Context, in *elb.DescribeTagsInput) (*elb.DescribeTagsOutput, error) {
	out := &elb.DescribeTagsOutput{TagDescriptions: []types.TagDescription{}}
	for _, name := range in.LoadBalancerNames {
		err := s.on(ctx, &name, func(_ *region, b *balancer) error {
			d := types.TagDescription{LoadBalancerName: &b.name, Tags: []types.Tag{}}
			for _, key := range sortedKeys(b.tags) {
				d.Tags = append(d.Tags, types.Tag{Key: aws.String(key), Value: aws.String(b.tags[key])})
			}
			out.TagDescriptions = append(out.TagDescriptions, d)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
