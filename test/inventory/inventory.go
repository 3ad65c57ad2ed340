// Package inventory lists all resources in an AWS account, for tests that must leave nothing
// behind.
package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/aws-operator/aws-operator/internal/patience"
)

// Of returns all resources in an account and region, as "kind id", sorted. It omits what AWS still
// shows for a while after its deletion (terminated instances, keys that wait for their deletion,
// deleted stacks and gateways), and the keys that AWS creates when a service first encrypts
// something.
func Of(tb testing.TB, config aws.Config) []string {
	tb.Helper()
	i := &inventorist{ctx: tb.Context(), t: tb}
	i.network(ec2.NewFromConfig(config))
	i.compute(ec2.NewFromConfig(config))
	i.balancers(config)
	i.others(config)
	slices.Sort(i.found)
	return i.found
}

type inventorist struct {
	ctx   context.Context //nolint:containedctx // one test's
	t     testing.TB
	found []string
}

func (i *inventorist) add(kind string, id *string) {
	i.found = append(i.found, fmt.Sprintf("%s %s", kind, aws.ToString(id)))
}

func (i *inventorist) check(err error) {
	i.t.Helper()
	if err != nil {
		i.t.Fatalf("list the resources in AWS: %v", err)
	}
}

// pager is the common interface of the SDK's paginators.
type pager[O, F any] interface {
	HasMorePages() bool
	NextPage(ctx context.Context, options ...func(*F)) (*O, error)
}

func each[O, F any](i *inventorist, pages pager[O, F], see func(*O)) {
	i.t.Helper()
	for pages.HasMorePages() {
		page, err := pages.NextPage(i.ctx)
		i.check(err)
		see(page)
	}
}

func (i *inventorist) network(c *ec2.Client) { //nolint:gocognit // a list, one kind after another
	i.t.Helper()
	each(i, ec2.NewDescribeVpcsPaginator(c, &ec2.DescribeVpcsInput{}), func(o *ec2.DescribeVpcsOutput) {
		for n := range o.Vpcs {
			i.add("vpc", o.Vpcs[n].VpcId)
		}
	})
	each(i, ec2.NewDescribeSubnetsPaginator(c, &ec2.DescribeSubnetsInput{}), func(o *ec2.DescribeSubnetsOutput) {
		for n := range o.Subnets {
			i.add("subnet", o.Subnets[n].SubnetId)
		}
	})
	each(i, ec2.NewDescribeRouteTablesPaginator(c, &ec2.DescribeRouteTablesInput{}), func(o *ec2.DescribeRouteTablesOutput) {
		for n := range o.RouteTables {
			i.add("route table", o.RouteTables[n].RouteTableId)
		}
	})
	each(i, ec2.NewDescribeInternetGatewaysPaginator(c, &ec2.DescribeInternetGatewaysInput{}), func(o *ec2.DescribeInternetGatewaysOutput) {
		for n := range o.InternetGateways {
			i.add("internet gateway", o.InternetGateways[n].InternetGatewayId)
		}
	})
	each(i, ec2.NewDescribeNatGatewaysPaginator(c, &ec2.DescribeNatGatewaysInput{}), func(o *ec2.DescribeNatGatewaysOutput) {
		for n := range o.NatGateways {
			if o.NatGateways[n].State != ec2types.NatGatewayStateDeleted {
				i.add("nat gateway", o.NatGateways[n].NatGatewayId)
			}
		}
	})
	each(i, ec2.NewDescribeSecurityGroupsPaginator(c, &ec2.DescribeSecurityGroupsInput{}), func(o *ec2.DescribeSecurityGroupsOutput) {
		for n := range o.SecurityGroups {
			group := &o.SecurityGroups[n]
			i.add(
				fmt.Sprintf("security group with %d and %d rules", len(group.IpPermissions), len(group.IpPermissionsEgress)), group.GroupId,
			)
		}
	})
	each(
		i,
		ec2.NewDescribeNetworkInterfacesPaginator(c, &ec2.DescribeNetworkInterfacesInput{}),
		func(o *ec2.DescribeNetworkInterfacesOutput) {
			for n := range o.NetworkInterfaces {
				i.add("network interface", o.NetworkInterfaces[n].NetworkInterfaceId)
			}
		},
	)
	each(i, ec2.NewDescribeVpcEndpointsPaginator(c, &ec2.DescribeVpcEndpointsInput{}), func(o *ec2.DescribeVpcEndpointsOutput) {
		for n := range o.VpcEndpoints {
			i.add("vpc endpoint", o.VpcEndpoints[n].VpcEndpointId)
		}
	})
	addresses, err := c.DescribeAddresses(i.ctx, &ec2.DescribeAddressesInput{})
	i.check(err)
	for n := range addresses.Addresses {
		i.add("address", addresses.Addresses[n].AllocationId)
	}
	each(i, ec2.NewDescribeTagsPaginator(c, &ec2.DescribeTagsInput{Filters: []ec2types.Filter{
		{Name: aws.String("resource-type"), Values: []string{"vpc", "subnet", "route-table", "security-group", "internet-gateway"}},
	}}), func(o *ec2.DescribeTagsOutput) {
		for n := range o.Tags {
			i.add("tag "+aws.ToString(o.Tags[n].Key)+" of", o.Tags[n].ResourceId)
		}
	})
}

func (i *inventorist) compute(c *ec2.Client) {
	i.t.Helper()
	each(i, ec2.NewDescribeInstancesPaginator(c, &ec2.DescribeInstancesInput{}), func(o *ec2.DescribeInstancesOutput) {
		for r := range o.Reservations {
			for n := range o.Reservations[r].Instances {
				if instance := &o.Reservations[r].Instances[n]; instance.State.Name != ec2types.InstanceStateNameTerminated {
					i.add("instance", instance.InstanceId)
				}
			}
		}
	})
	each(i, ec2.NewDescribeVolumesPaginator(c, &ec2.DescribeVolumesInput{}), func(o *ec2.DescribeVolumesOutput) {
		for n := range o.Volumes {
			i.add("volume", o.Volumes[n].VolumeId)
		}
	})
	each(
		i,
		ec2.NewDescribeSnapshotsPaginator(c, &ec2.DescribeSnapshotsInput{OwnerIds: []string{"self"}}),
		func(o *ec2.DescribeSnapshotsOutput) {
			for n := range o.Snapshots {
				i.add("snapshot", o.Snapshots[n].SnapshotId)
			}
		},
	)
	each(i, ec2.NewDescribeLaunchTemplatesPaginator(c, &ec2.DescribeLaunchTemplatesInput{}), func(o *ec2.DescribeLaunchTemplatesOutput) {
		for n := range o.LaunchTemplates {
			i.add("launch template", o.LaunchTemplates[n].LaunchTemplateId)
		}
	})
}

func (i *inventorist) balancers(config aws.Config) {
	i.t.Helper()
	c := elbv2.NewFromConfig(config)
	each(i, elbv2.NewDescribeLoadBalancersPaginator(c, &elbv2.DescribeLoadBalancersInput{}), func(o *elbv2.DescribeLoadBalancersOutput) {
		for n := range o.LoadBalancers {
			i.add("load balancer", o.LoadBalancers[n].LoadBalancerArn)
		}
	})
	each(i, elbv2.NewDescribeTargetGroupsPaginator(c, &elbv2.DescribeTargetGroupsInput{}), func(o *elbv2.DescribeTargetGroupsOutput) {
		for n := range o.TargetGroups {
			i.add("target group", o.TargetGroups[n].TargetGroupArn)
		}
	})
	each(
		i,
		elb.NewDescribeLoadBalancersPaginator(elb.NewFromConfig(config), &elb.DescribeLoadBalancersInput{}),
		func(o *elb.DescribeLoadBalancersOutput) {
			for n := range o.LoadBalancerDescriptions {
				i.add("classic load balancer", o.LoadBalancerDescriptions[n].LoadBalancerName)
			}
		},
	)
	each(
		i,
		autoscaling.NewDescribeAutoScalingGroupsPaginator(autoscaling.NewFromConfig(config), &autoscaling.DescribeAutoScalingGroupsInput{}),
		func(o *autoscaling.DescribeAutoScalingGroupsOutput) {
			for n := range o.AutoScalingGroups {
				i.add("auto scaling group", o.AutoScalingGroups[n].AutoScalingGroupName)
			}
		},
	)
}

func (i *inventorist) others(config aws.Config) { //nolint:gocognit // a list, one kind after another
	i.t.Helper()
	each(i, cloudformation.NewDescribeStacksPaginator(cloudformation.NewFromConfig(config), &cloudformation.DescribeStacksInput{}),
		func(o *cloudformation.DescribeStacksOutput) {
			for n := range o.Stacks {
				if o.Stacks[n].StackStatus != cfntypes.StackStatusDeleteComplete {
					i.add("stack", o.Stacks[n].StackName)
				}
			}
		})
	each(
		i,
		route53.NewListHostedZonesPaginator(route53.NewFromConfig(config), &route53.ListHostedZonesInput{}),
		func(o *route53.ListHostedZonesOutput) {
			for n := range o.HostedZones {
				i.add(fmt.Sprintf("hosted zone with %d records", aws.ToInt64(o.HostedZones[n].ResourceRecordSetCount)), o.HostedZones[n].Id)
			}
		},
	)
	identity := iam.NewFromConfig(config)
	each(i, iam.NewListRolesPaginator(identity, &iam.ListRolesInput{}), func(o *iam.ListRolesOutput) {
		for n := range o.Roles {
			i.add("role", o.Roles[n].RoleName)
		}
	})
	each(i, iam.NewListInstanceProfilesPaginator(identity, &iam.ListInstanceProfilesInput{}), func(o *iam.ListInstanceProfilesOutput) {
		for n := range o.InstanceProfiles {
			i.add("instance profile", o.InstanceProfiles[n].InstanceProfileName)
		}
	})
	keys := kms.NewFromConfig(config)
	each(i, kms.NewListKeysPaginator(keys, &kms.ListKeysInput{}), func(o *kms.ListKeysOutput) {
		for n := range o.Keys {
			var key *kms.DescribeKeyOutput
			patience.Until(i.t, "a listed key is found", func() (err error) { // a new one may not be, at first
				key, err = keys.DescribeKey(i.ctx, &kms.DescribeKeyInput{KeyId: o.Keys[n].KeyId})
				return err
			})
			if key.KeyMetadata.KeyState != kmstypes.KeyStatePendingDeletion &&
				key.KeyMetadata.KeyManager == kmstypes.KeyManagerTypeCustomer {
				i.add("key", o.Keys[n].KeyId)
			}
		}
	})
	each(i, kms.NewListAliasesPaginator(keys, &kms.ListAliasesInput{}), func(o *kms.ListAliasesOutput) {
		for n := range o.Aliases {
			if !strings.HasPrefix(aws.ToString(o.Aliases[n].AliasName), "alias/aws/") {
				i.add("key alias", o.Aliases[n].AliasName)
			}
		}
	})
	each(
		i,
		ssm.NewDescribeParametersPaginator(ssm.NewFromConfig(config), &ssm.DescribeParametersInput{}),
		func(o *ssm.DescribeParametersOutput) {
			for n := range o.Parameters {
				i.add("parameter", o.Parameters[n].Name)
			}
		},
	)
	buckets, err := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true }).ListBuckets(i.ctx, &s3.ListBucketsInput{})
	i.check(err)
	for n := range buckets.Buckets {
		i.add("bucket", buckets.Buckets[n].Name)
	}
}
