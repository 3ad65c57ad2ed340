package ssm

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

func (s *Service) withTags(ctx context.Context, kind types.ResourceTypeForTagging, id *string, fn func(map[string]string) error) error {
	if kind != types.ResourceTypeForTaggingParameter {
		return wire.Errorf("InvalidResourceType", "The simulator tags parameters only, not %s.", kind)
	}
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.parameters[aws.ToString(id)]
	if !ok {
		return wire.Errorf("InvalidResourceId", "The resource ID isn't valid. Verify that you entered the correct ID and try again.")
	}
	return fn(p.tags)
}

func tagMap(list []types.Tag) map[string]string {
	tags := make(map[string]string, len(list))
	for _, t := range list {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags
}

func (s *Service) addTags(ctx context.Context, in *ssm.AddTagsToResourceInput) (*ssm.AddTagsToResourceOutput, error) {
	return nil, s.withTags(ctx, in.ResourceType, in.ResourceId, func(tags map[string]string) error {
		added := tagMap(in.Tags)
		if err := tagRules.Check(tags, added); err != nil {
			return err
		}
		maps.Copy(tags, added)
		return nil
	})
}

func (s *Service) removeTags(ctx context.Context, in *ssm.RemoveTagsFromResourceInput) (*ssm.RemoveTagsFromResourceOutput, error) {
	return nil, s.withTags(ctx, in.ResourceType, in.ResourceId, func(tags map[string]string) error {
		for _, key := range in.TagKeys {
			delete(tags, key)
		}
		return nil
	})
}

func (s *Service) listTags(ctx context.Context, in *ssm.ListTagsForResourceInput) (*ssm.ListTagsForResourceOutput, error) {
	out := &ssm.ListTagsForResourceOutput{TagList: []types.Tag{}}
	return out, s.withTags(ctx, in.ResourceType, in.ResourceId, func(tags map[string]string) error {
		for _, key := range slices.Sorted(maps.Keys(tags)) {
			out.TagList = append(out.TagList, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
		}
		return nil
	})
}
