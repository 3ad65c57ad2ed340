package rollout

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// TagAutoscalerHeld is on a group for which the cluster autoscaler is suspended. It holds the
// removed tag.
const TagAutoscalerHeld = v1alpha1.Group + "/autoscaler-held"

// Tags are a group's tags by key.
type Tags map[string]types.TagDescription

// TagsOf returns the tags of a group as Auto Scaling described it.
func TagsOf(group *types.AutoScalingGroup) Tags {
	tags := make(Tags, len(group.Tags))
	for _, tag := range group.Tags {
		tags[aws.ToString(tag.Key)] = tag
	}
	return tags
}

// Autoscaled reports whether the cluster autoscaler discovers a group with these tags: it matches
// the key, whatever the value, so only removing the tag suspends it.
// https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md#auto-discovery-setup
func (t Tags) Autoscaled() bool {
	_, ok := t[model.TagAutoscalerEnabled]
	return ok
}

// AutoscalerHeld reports whether [HoldAutoscaler] suspended the autoscaler for a group with these
// tags.
func (t Tags) AutoscalerHeld() bool {
	_, ok := t[TagAutoscalerHeld]
	return ok
}

// HoldAutoscaler suspends the cluster autoscaler for a group by its Auto Scaling group's name. It
// records the tag before removing it, so it can be interrupted at any point and repeated. It does
// not change a group that the autoscaler does not manage.
func HoldAutoscaler(ctx context.Context, api awsapi.AutoScalingWriter, group string, tags Tags) error {
	enabled, ok := tags[model.TagAutoscalerEnabled]
	if !ok {
		return nil
	}
	note := strconv.FormatBool(aws.ToBool(enabled.PropagateAtLaunch)) + ":" + aws.ToString(enabled.Value)
	if aws.ToString(tags[TagAutoscalerHeld].Value) != note {
		if err := putTag(ctx, api, group, TagAutoscalerHeld, note, false); err != nil {
			return fmt.Errorf("suspend the cluster autoscaler for group %s: %w", group, err)
		}
	}
	if err := dropTag(ctx, api, group, model.TagAutoscalerEnabled); err != nil {
		return fmt.Errorf("suspend the cluster autoscaler for group %s: %w", group, err)
	}
	return nil
}

// ReleaseAutoscaler undoes [HoldAutoscaler]. It can also be interrupted at any point and repeated.
func ReleaseAutoscaler(ctx context.Context, api awsapi.AutoScalingWriter, group string, tags Tags) error {
	held, ok := tags[TagAutoscalerHeld]
	if !ok {
		return nil
	}
	propagate, value, _ := strings.Cut(aws.ToString(held.Value), ":")
	if !tags.Autoscaled() {
		if err := putTag(ctx, api, group, model.TagAutoscalerEnabled, value, propagate == "true"); err != nil {
			return fmt.Errorf("resume the cluster autoscaler for group %s: %w", group, err)
		}
	}
	if err := dropTag(ctx, api, group, TagAutoscalerHeld); err != nil {
		return fmt.Errorf("resume the cluster autoscaler for group %s: %w", group, err)
	}
	return nil
}

// groupResource is the resource type of an Auto Scaling group in its tags:
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_Tag.html
const groupResource = "auto-scaling-group"

func putTag(ctx context.Context, api awsapi.AutoScalingWriter, group, key, value string, propagate bool) error {
	_, err := api.CreateOrUpdateTags(ctx, &autoscaling.CreateOrUpdateTagsInput{Tags: []types.Tag{{
		ResourceType: aws.String(groupResource), ResourceId: &group, Key: &key, Value: &value, PropagateAtLaunch: &propagate,
	}}})
	return err
}

func dropTag(ctx context.Context, api awsapi.AutoScalingWriter, group, key string) error {
	_, err := api.DeleteTags(ctx, &autoscaling.DeleteTagsInput{Tags: []types.Tag{{
		ResourceType: aws.String(groupResource), ResourceId: &group, Key: &key,
	}}})
	return err
}
