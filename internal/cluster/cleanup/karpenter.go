package cleanup

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// groupTag is on the instances of Auto Scaling groups, which the stacks delete.
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html
const groupTag = "aws:autoscaling:groupName"

// launched reports whether the cluster's Karpenter created a resource with these tags.
func (h *collector) launched(tags []types.Tag) bool {
	all := tagsOf(tags)
	_, pool := all[model.TagNodePool]
	_, group := all[groupTag]
	return pool && !group && h.mine(all)
}

// instances terminates the instances that Karpenter launched, and waits until they are terminated:
// they use subnets and security groups. Karpenter itself ended with the cluster's nodes.
func (h *collector) instances(ctx context.Context) error {
	pages := ec2.NewDescribeInstancesPaginator(h.ec2, &ec2.DescribeInstancesInput{Filters: []types.Filter{
		filter("vpc-id", h.vpc), h.owned(), filter("tag-key", model.TagNodePool),
		filter("instance-state-name", "pending", "running", "shutting-down", "stopping", "stopped"),
	}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err //nolint:wrapcheck // explained by the caller
		}
		for i := range page.Reservations {
			for j := range page.Reservations[i].Instances {
				if err := h.instance(ctx, &page.Reservations[i].Instances[j]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (h *collector) instance(ctx context.Context, found *types.Instance) error {
	id := aws.ToString(found.InstanceId)
	if !h.launched(found.Tags) {
		return nil
	}
	if found.State != nil && found.State.Name == types.InstanceStateNameShuttingDown {
		h.waits = append(h.waits, id)
		return nil
	}
	_, err := h.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	if err == nil {
		h.waits = append(h.waits, id) // it has only begun to shut down
	}
	return h.took(id, err)
}

// templates deletes the launch templates that Karpenter created.
func (h *collector) templates(ctx context.Context) error {
	pages := ec2.NewDescribeLaunchTemplatesPaginator(h.ec2, &ec2.DescribeLaunchTemplatesInput{Filters: []types.Filter{
		h.owned(), filter("tag-key", model.TagNodePool),
	}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err //nolint:wrapcheck // explained by the caller
		}
		for i := range page.LaunchTemplates {
			if !h.launched(page.LaunchTemplates[i].Tags) {
				continue
			}
			id := aws.ToString(page.LaunchTemplates[i].LaunchTemplateId)
			_, err := h.ec2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &id})
			if err := h.took(id, err); err != nil {
				return err
			}
		}
	}
	return nil
}
