package autoscaling

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
)

const groupResource = "auto-scaling-group"

// tagRules are the errors for tags. The codes are those of the service's validation and limits; no
// words of AWS are on record.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html#tag_restrictions
var tagRules = tagging.Rules{
	Reserved: tagging.Refusal{
		Code: "ValidationError", Message: "The tag key {key} is invalid. Tag keys starting with 'aws:' are reserved for internal use",
	},
	Key:     tagging.LongKey("ValidationError", "key"),
	Value:   tagging.LongValue("ValidationError", "value"),
	TooMany: tagging.Refusal{Code: "LimitExceeded", Message: "The maximum number of tags for an Auto Scaling group is 50."},
}

// valuesOf returns the values of tags by key.
func valuesOf(tags []types.Tag) map[string]string {
	values := make(map[string]string, len(tags))
	for _, t := range tags {
		values[deref(t.Key)] = deref(t.Value)
	}
	return values
}

// ownTags returns the tags in a group's creation.
func ownTags(name string, tags []types.Tag) ([]types.Tag, error) {
	var own []types.Tag
	for _, t := range tags {
		switch {
		case deref(t.ResourceId) != "" && *t.ResourceId != name:
			return nil, validation("The resource id of a tag is %s, but the group is called %s.", *t.ResourceId, name)
		case deref(t.Key) == "":
			return nil, validation(
				"1 validation error detected: Value null at 'tags.member.key' failed to satisfy constraint: Member must not be null",
			)
		}
		own = withTag(own, t)
	}
	return own, nil
}

// withTag returns tags with one added or changed, ordered by key.
func withTag(tags []types.Tag, t types.Tag) []types.Tag {
	propagate := deref(t.PropagateAtLaunch)
	tag := types.Tag{Key: t.Key, Value: aws.String(deref(t.Value)), PropagateAtLaunch: &propagate}
	tags = slices.DeleteFunc(slices.Clone(tags), func(other types.Tag) bool { return *other.Key == *t.Key })
	tags = append(tags, tag)
	slices.SortFunc(tags, func(a, b types.Tag) int { return strings.Compare(*a.Key, *b.Key) })
	return tags
}

func (g *group) tagDescriptions() []types.TagDescription {
	out := make([]types.TagDescription, 0, len(g.tags))
	for _, t := range g.tags {
		out = append(out, types.TagDescription{
			Key: t.Key, Value: t.Value, PropagateAtLaunch: t.PropagateAtLaunch, ResourceId: &g.name,
			ResourceType: aws.String(groupResource),
		})
	}
	return out
}

// eachTagged changes the groups that tags name.
func (s *Service) eachTagged(ctx context.Context, tags []types.Tag, change func(*group, types.Tag) error) error {
	for _, t := range tags {
		if kind := deref(t.ResourceType); kind != "" && kind != groupResource {
			return validation("%s is not a valid resource type.", kind)
		}
		if err := s.change(ctx, t.ResourceId, func(g *group) error { return change(g, t) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) createOrUpdateTags(
	ctx context.Context, in *autoscaling.CreateOrUpdateTagsInput,
) (*autoscaling.CreateOrUpdateTagsOutput, error) {
	err := s.eachTagged(ctx, in.Tags, func(g *group, t types.Tag) error {
		others := func(other types.Tag) bool { return deref(other.ResourceId) != deref(t.ResourceId) }
		return tagRules.Check(valuesOf(g.tags), valuesOf(slices.DeleteFunc(slices.Clone(in.Tags), others)))
	})
	if err != nil {
		return nil, err
	}
	return nil, s.eachTagged(ctx, in.Tags, func(g *group, t types.Tag) error {
		g.tags = withTag(g.tags, t)
		return nil
	})
}

func (s *Service) deleteTags(ctx context.Context, in *autoscaling.DeleteTagsInput) (*autoscaling.DeleteTagsOutput, error) {
	return nil, s.eachTagged(ctx, in.Tags, func(g *group, t types.Tag) error {
		g.tags = slices.DeleteFunc(slices.Clone(g.tags), func(other types.Tag) bool { return deref(other.Key) == deref(t.Key) })
		return nil
	})
}

func (s *Service) describeTags(ctx context.Context, in *autoscaling.DescribeTagsInput) (*autoscaling.DescribeTagsOutput, error) {
	r := s.at(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	found := map[string]types.TagDescription{}
	var keys []string
	for _, name := range r.names() {
		for _, t := range r.groups[name].tagDescriptions() {
			ok, err := tagMatches(t, in.Filters)
			if err != nil {
				return nil, err
			}
			if ok {
				key := name + "\x00" + *t.Key
				found[key] = t
				keys = append(keys, key)
			}
		}
	}
	keys, next, err := page(keys, in.NextToken, in.MaxRecords)
	if err != nil {
		return nil, err
	}
	out := &autoscaling.DescribeTagsOutput{Tags: []types.TagDescription{}, NextToken: next}
	for _, key := range keys {
		out.Tags = append(out.Tags, found[key])
	}
	return out, nil
}

func tagMatches(t types.TagDescription, filters []types.Filter) (bool, error) {
	for _, f := range filters {
		var value string
		switch deref(f.Name) {
		case "auto-scaling-group":
			value = *t.ResourceId
		case "key":
			value = *t.Key
		case "value":
			value = *t.Value
		case "propagate-at-launch":
			value = "false"
			if *t.PropagateAtLaunch {
				value = "true"
			}
		default:
			return false, validation(
				"Filter type %s is not correct. Allowed Filter types are: auto-scaling-group key value propagate-at-launch", deref(f.Name),
			)
		}
		if !slices.Contains(f.Values, value) {
			return false, nil
		}
	}
	return true, nil
}
