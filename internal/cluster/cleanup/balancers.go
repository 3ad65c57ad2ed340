package cleanup

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
)

// describedTags is the maximum number of load balancers, of either generation, per DescribeTags
// call. https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_DescribeTags.html
const describedTags = 20

// classicBalancers deletes Classic Load Balancers.
func (h *collector) classicBalancers(ctx context.Context) error {
	names, err := h.ownClassic(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		_, err := h.classic.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerName: &name})
		if err := h.took("load balancer "+name, err); err != nil {
			return err
		}
	}
	return nil
}

func (h *collector) ownClassic(ctx context.Context) ([]string, error) {
	var names, own []string
	pages := elb.NewDescribeLoadBalancersPaginator(h.classic, &elb.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err //nolint:wrapcheck // explained by the caller
		}
		for i := range page.LoadBalancerDescriptions {
			if found := &page.LoadBalancerDescriptions[i]; aws.ToString(found.VPCId) == h.vpc {
				names = append(names, aws.ToString(found.LoadBalancerName))
			}
		}
	}
	for some := range slices.Chunk(names, describedTags) {
		tags, err := h.classic.DescribeTags(ctx, &elb.DescribeTagsInput{LoadBalancerNames: some})
		if err != nil {
			return nil, err //nolint:wrapcheck // explained by the caller
		}
		for _, described := range tags.TagDescriptions {
			all := map[string]string{}
			for _, tag := range described.Tags {
				all[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
			}
			if h.mine(all) {
				own = append(own, aws.ToString(described.LoadBalancerName))
			}
		}
	}
	return own, nil
}

// loadBalancers deletes Network and Application Load Balancers.
func (h *collector) loadBalancers(ctx context.Context) error {
	own, err := h.ownBalancers(ctx)
	if err != nil {
		return err
	}
	for _, arn := range own {
		_, err := h.balancers.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: &arn})
		if err := h.took(arn, err); err != nil {
			return err
		}
	}
	return nil
}

func (h *collector) ownBalancers(ctx context.Context) ([]string, error) {
	var arns []string
	pages := elbv2.NewDescribeLoadBalancersPaginator(h.balancers, &elbv2.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err //nolint:wrapcheck // explained by the caller
		}
		for i := range page.LoadBalancers {
			if found := &page.LoadBalancers[i]; aws.ToString(found.VpcId) == h.vpc {
				arns = append(arns, aws.ToString(found.LoadBalancerArn))
			}
		}
	}
	return h.ownOf(ctx, arns)
}

// targetGroups deletes target groups after their load balancers.
func (h *collector) targetGroups(ctx context.Context) error {
	var arns []string
	pages := elbv2.NewDescribeTargetGroupsPaginator(h.balancers, &elbv2.DescribeTargetGroupsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err //nolint:wrapcheck // explained by the caller
		}
		for i := range page.TargetGroups {
			if found := &page.TargetGroups[i]; aws.ToString(found.VpcId) == h.vpc {
				arns = append(arns, aws.ToString(found.TargetGroupArn))
			}
		}
	}
	own, err := h.ownOf(ctx, arns)
	if err != nil {
		return err
	}
	for _, arn := range own {
		_, err := h.balancers.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: &arn})
		if err := h.took(arn, err); err != nil {
			return err
		}
	}
	return nil
}

// ownOf returns those that the cluster's controllers created.
func (h *collector) ownOf(ctx context.Context, arns []string) ([]string, error) {
	var own []string
	for some := range slices.Chunk(arns, describedTags) {
		tags, err := h.balancers.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: some})
		if err != nil {
			return nil, err //nolint:wrapcheck // explained by the caller
		}
		for _, described := range tags.TagDescriptions {
			all := map[string]string{}
			for _, tag := range described.Tags {
				all[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
			}
			if h.mine(all) {
				own = append(own, aws.ToString(described.ResourceArn))
			}
		}
	}
	return own, nil
}

// balancersLeft lists the remaining load balancers.
func (h *collector) balancersLeft(ctx context.Context) ([]string, error) {
	classic, err := h.ownClassic(ctx)
	if err != nil {
		return nil, err
	}
	others, err := h.ownBalancers(ctx)
	return append(classic, others...), err
}
