package awsapi

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/route53"
)

// Leftovers finds and deletes the EC2 resources that the controllers of a workload cluster created.
type Leftovers interface {
	LeftoverGroups
	LeftoverInterfaces
	LeftoverVolumes
	LeftoverInstances
	DescribeTags(context.Context, *ec2.DescribeTagsInput, ...func(*ec2.Options)) (*ec2.DescribeTagsOutput, error)
}

// LeftoverGroups finds and deletes security groups, and the rules that refer to them.
type LeftoverGroups interface {
	DescribeSecurityGroups(
		context.Context, *ec2.DescribeSecurityGroupsInput, ...func(*ec2.Options),
	) (*ec2.DescribeSecurityGroupsOutput, error)
	RevokeSecurityGroupIngress(
		context.Context, *ec2.RevokeSecurityGroupIngressInput, ...func(*ec2.Options),
	) (*ec2.RevokeSecurityGroupIngressOutput, error)
	DeleteSecurityGroup(context.Context, *ec2.DeleteSecurityGroupInput, ...func(*ec2.Options)) (*ec2.DeleteSecurityGroupOutput, error)
}

// LeftoverInterfaces finds and deletes network interfaces.
type LeftoverInterfaces interface {
	DescribeNetworkInterfaces(
		context.Context, *ec2.DescribeNetworkInterfacesInput, ...func(*ec2.Options),
	) (*ec2.DescribeNetworkInterfacesOutput, error)
	DeleteNetworkInterface(
		context.Context, *ec2.DeleteNetworkInterfaceInput, ...func(*ec2.Options),
	) (*ec2.DeleteNetworkInterfaceOutput, error)
}

// LeftoverVolumes finds and deletes volumes and snapshots.
type LeftoverVolumes interface {
	DescribeVolumes(context.Context, *ec2.DescribeVolumesInput, ...func(*ec2.Options)) (*ec2.DescribeVolumesOutput, error)
	DeleteVolume(context.Context, *ec2.DeleteVolumeInput, ...func(*ec2.Options)) (*ec2.DeleteVolumeOutput, error)
	DescribeSnapshots(context.Context, *ec2.DescribeSnapshotsInput, ...func(*ec2.Options)) (*ec2.DescribeSnapshotsOutput, error)
	DeleteSnapshot(context.Context, *ec2.DeleteSnapshotInput, ...func(*ec2.Options)) (*ec2.DeleteSnapshotOutput, error)
}

// LeftoverInstances finds and deletes instances and the launch templates that they are from.
type LeftoverInstances interface {
	DescribeInstances(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
	TerminateInstances(context.Context, *ec2.TerminateInstancesInput, ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error)
	DescribeLaunchTemplates(
		context.Context, *ec2.DescribeLaunchTemplatesInput, ...func(*ec2.Options),
	) (*ec2.DescribeLaunchTemplatesOutput, error)
	DeleteLaunchTemplate(context.Context, *ec2.DeleteLaunchTemplateInput, ...func(*ec2.Options)) (*ec2.DeleteLaunchTemplateOutput, error)
}

// LoadBalancers finds and deletes network and application load balancers.
type LoadBalancers interface {
	DescribeLoadBalancers(
		context.Context, *elbv2.DescribeLoadBalancersInput, ...func(*elbv2.Options),
	) (*elbv2.DescribeLoadBalancersOutput, error)
	DeleteLoadBalancer(context.Context, *elbv2.DeleteLoadBalancerInput, ...func(*elbv2.Options)) (*elbv2.DeleteLoadBalancerOutput, error)
	DescribeTargetGroups(
		context.Context, *elbv2.DescribeTargetGroupsInput, ...func(*elbv2.Options),
	) (*elbv2.DescribeTargetGroupsOutput, error)
	DeleteTargetGroup(context.Context, *elbv2.DeleteTargetGroupInput, ...func(*elbv2.Options)) (*elbv2.DeleteTargetGroupOutput, error)
	DescribeTags(context.Context, *elbv2.DescribeTagsInput, ...func(*elbv2.Options)) (*elbv2.DescribeTagsOutput, error)
}

// LoadBalancerReader reads network and application load balancers, and the health of their targets.
type LoadBalancerReader interface {
	DescribeLoadBalancers(
		context.Context, *elbv2.DescribeLoadBalancersInput, ...func(*elbv2.Options),
	) (*elbv2.DescribeLoadBalancersOutput, error)
	DescribeTargetGroups(
		context.Context, *elbv2.DescribeTargetGroupsInput, ...func(*elbv2.Options),
	) (*elbv2.DescribeTargetGroupsOutput, error)
	DescribeTargetHealth(
		context.Context, *elbv2.DescribeTargetHealthInput, ...func(*elbv2.Options),
	) (*elbv2.DescribeTargetHealthOutput, error)
	DescribeTags(context.Context, *elbv2.DescribeTagsInput, ...func(*elbv2.Options)) (*elbv2.DescribeTagsOutput, error)
}

// ClassicLoadBalancers finds and deletes load balancers of the first generation, which the cloud
// controller creates for a Service by default.
type ClassicLoadBalancers interface {
	DescribeLoadBalancers(context.Context, *elb.DescribeLoadBalancersInput, ...func(*elb.Options)) (*elb.DescribeLoadBalancersOutput, error)
	DeleteLoadBalancer(context.Context, *elb.DeleteLoadBalancerInput, ...func(*elb.Options)) (*elb.DeleteLoadBalancerOutput, error)
	DescribeTags(context.Context, *elb.DescribeTagsInput, ...func(*elb.Options)) (*elb.DescribeTagsOutput, error)
}

// Records reads and changes the records of a hosted zone.
type Records interface {
	ListResourceRecordSets(
		context.Context, *route53.ListResourceRecordSetsInput, ...func(*route53.Options),
	) (*route53.ListResourceRecordSetsOutput, error)
	ChangeResourceRecordSets(
		context.Context, *route53.ChangeResourceRecordSetsInput, ...func(*route53.Options),
	) (*route53.ChangeResourceRecordSetsOutput, error)
}

// Leftovers returns the EC2 client for resources that clusters created.
func (c *Clients) Leftovers(t Target) Leftovers {
	return client(c, "ec2", t, newEc2Calls)
}

// LoadBalancers returns the client of Elastic Load Balancing v2 for the target.
func (c *Clients) LoadBalancers(t Target) LoadBalancers { return c.elbv2(t) }

// LoadBalancerReader returns the read-only client of Elastic Load Balancing v2 for the target.
func (c *Clients) LoadBalancerReader(t Target) LoadBalancerReader { return c.elbv2(t) }

func (c *Clients) elbv2(t Target) *elbv2Calls {
	return client(c, "elasticloadbalancingv2", t, newElbv2Calls)
}

// ClassicLoadBalancers returns the client of classic Elastic Load Balancing for the target.
func (c *Clients) ClassicLoadBalancers(t Target) ClassicLoadBalancers {
	return client(c, "elasticloadbalancing", t, newElbCalls)
}

// Records returns the client of Route 53's records for the target.
func (c *Clients) Records(t Target) Records {
	return client(c, "route53", t, newRoute53Calls)
}
