package awsapi

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/route53"
)

// elbCalls are the calls of classic Elastic Load Balancing that the project makes.
type elbCalls struct {
	deleteLoadBalancer    call[elb.DeleteLoadBalancerInput, elb.DeleteLoadBalancerOutput, elb.Options]
	describeLoadBalancers call[elb.DescribeLoadBalancersInput, elb.DescribeLoadBalancersOutput, elb.Options]
	describeTags          call[elb.DescribeTagsInput, elb.DescribeTagsOutput, elb.Options]
}

func newElbCalls(cfg aws.Config) *elbCalls {
	client := elb.NewFromConfig(cfg)
	return &elbCalls{
		deleteLoadBalancer:    client.DeleteLoadBalancer,
		describeLoadBalancers: client.DescribeLoadBalancers,
		describeTags:          client.DescribeTags,
	}
}

func (c *elbCalls) DeleteLoadBalancer(
	ctx context.Context, in *elb.DeleteLoadBalancerInput, options ...func(*elb.Options),
) (*elb.DeleteLoadBalancerOutput, error) {
	return c.deleteLoadBalancer(ctx, in, options...)
}

func (c *elbCalls) DescribeLoadBalancers(
	ctx context.Context, in *elb.DescribeLoadBalancersInput, options ...func(*elb.Options),
) (*elb.DescribeLoadBalancersOutput, error) {
	return c.describeLoadBalancers(ctx, in, options...)
}

func (c *elbCalls) DescribeTags(
	ctx context.Context, in *elb.DescribeTagsInput, options ...func(*elb.Options),
) (*elb.DescribeTagsOutput, error) {
	return c.describeTags(ctx, in, options...)
}

// elbv2Calls are the calls of Elastic Load Balancing v2 that the project makes.
type elbv2Calls struct {
	deleteLoadBalancer    call[elbv2.DeleteLoadBalancerInput, elbv2.DeleteLoadBalancerOutput, elbv2.Options]
	deleteTargetGroup     call[elbv2.DeleteTargetGroupInput, elbv2.DeleteTargetGroupOutput, elbv2.Options]
	describeLoadBalancers call[elbv2.DescribeLoadBalancersInput, elbv2.DescribeLoadBalancersOutput, elbv2.Options]
	describeTags          call[elbv2.DescribeTagsInput, elbv2.DescribeTagsOutput, elbv2.Options]
	describeTargetGroups  call[elbv2.DescribeTargetGroupsInput, elbv2.DescribeTargetGroupsOutput, elbv2.Options]
	describeTargetHealth  call[elbv2.DescribeTargetHealthInput, elbv2.DescribeTargetHealthOutput, elbv2.Options]
}

func newElbv2Calls(cfg aws.Config) *elbv2Calls {
	client := elbv2.NewFromConfig(cfg)
	return &elbv2Calls{
		deleteLoadBalancer:    client.DeleteLoadBalancer,
		deleteTargetGroup:     client.DeleteTargetGroup,
		describeLoadBalancers: client.DescribeLoadBalancers,
		describeTags:          client.DescribeTags,
		describeTargetGroups:  client.DescribeTargetGroups,
		describeTargetHealth:  client.DescribeTargetHealth,
	}
}

func (c *elbv2Calls) DeleteLoadBalancer(
	ctx context.Context, in *elbv2.DeleteLoadBalancerInput, options ...func(*elbv2.Options),
) (*elbv2.DeleteLoadBalancerOutput, error) {
	return c.deleteLoadBalancer(ctx, in, options...)
}

func (c *elbv2Calls) DeleteTargetGroup(
	ctx context.Context, in *elbv2.DeleteTargetGroupInput, options ...func(*elbv2.Options),
) (*elbv2.DeleteTargetGroupOutput, error) {
	return c.deleteTargetGroup(ctx, in, options...)
}

func (c *elbv2Calls) DescribeLoadBalancers(
	ctx context.Context, in *elbv2.DescribeLoadBalancersInput, options ...func(*elbv2.Options),
) (*elbv2.DescribeLoadBalancersOutput, error) {
	return c.describeLoadBalancers(ctx, in, options...)
}

func (c *elbv2Calls) DescribeTags(
	ctx context.Context, in *elbv2.DescribeTagsInput, options ...func(*elbv2.Options),
) (*elbv2.DescribeTagsOutput, error) {
	return c.describeTags(ctx, in, options...)
}

func (c *elbv2Calls) DescribeTargetGroups(
	ctx context.Context, in *elbv2.DescribeTargetGroupsInput, options ...func(*elbv2.Options),
) (*elbv2.DescribeTargetGroupsOutput, error) {
	return c.describeTargetGroups(ctx, in, options...)
}

func (c *elbv2Calls) DescribeTargetHealth(
	ctx context.Context, in *elbv2.DescribeTargetHealthInput, options ...func(*elbv2.Options),
) (*elbv2.DescribeTargetHealthOutput, error) {
	return c.describeTargetHealth(ctx, in, options...)
}

// route53Calls are the calls of Route 53 that the project makes.
type route53Calls struct {
	changeResourceRecordSets call[route53.ChangeResourceRecordSetsInput, route53.ChangeResourceRecordSetsOutput, route53.Options]
	listResourceRecordSets   call[route53.ListResourceRecordSetsInput, route53.ListResourceRecordSetsOutput, route53.Options]
}

func newRoute53Calls(cfg aws.Config) *route53Calls {
	client := route53.NewFromConfig(cfg)
	return &route53Calls{
		changeResourceRecordSets: client.ChangeResourceRecordSets,
		listResourceRecordSets:   client.ListResourceRecordSets,
	}
}

func (c *route53Calls) ChangeResourceRecordSets(
	ctx context.Context, in *route53.ChangeResourceRecordSetsInput, options ...func(*route53.Options),
) (*route53.ChangeResourceRecordSetsOutput, error) {
	return c.changeResourceRecordSets(ctx, in, options...)
}

func (c *route53Calls) ListResourceRecordSets(
	ctx context.Context, in *route53.ListResourceRecordSetsInput, options ...func(*route53.Options),
) (*route53.ListResourceRecordSetsOutput, error) {
	return c.listResourceRecordSets(ctx, in, options...)
}
