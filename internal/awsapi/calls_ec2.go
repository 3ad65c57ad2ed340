package awsapi

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// ec2Calls are the calls of EC2 that the project makes.
type ec2Calls struct {
	createImage                    call[ec2.CreateImageInput, ec2.CreateImageOutput, ec2.Options]
	createSnapshot                 call[ec2.CreateSnapshotInput, ec2.CreateSnapshotOutput, ec2.Options]
	createTags                     call[ec2.CreateTagsInput, ec2.CreateTagsOutput, ec2.Options]
	deleteLaunchTemplate           call[ec2.DeleteLaunchTemplateInput, ec2.DeleteLaunchTemplateOutput, ec2.Options]
	deleteNetworkInterface         call[ec2.DeleteNetworkInterfaceInput, ec2.DeleteNetworkInterfaceOutput, ec2.Options]
	deleteSecurityGroup            call[ec2.DeleteSecurityGroupInput, ec2.DeleteSecurityGroupOutput, ec2.Options]
	deleteSnapshot                 call[ec2.DeleteSnapshotInput, ec2.DeleteSnapshotOutput, ec2.Options]
	deleteTags                     call[ec2.DeleteTagsInput, ec2.DeleteTagsOutput, ec2.Options]
	deleteVolume                   call[ec2.DeleteVolumeInput, ec2.DeleteVolumeOutput, ec2.Options]
	deregisterImage                call[ec2.DeregisterImageInput, ec2.DeregisterImageOutput, ec2.Options]
	describeAddresses              call[ec2.DescribeAddressesInput, ec2.DescribeAddressesOutput, ec2.Options]
	describeDhcpOptions            call[ec2.DescribeDhcpOptionsInput, ec2.DescribeDhcpOptionsOutput, ec2.Options]
	describeImages                 call[ec2.DescribeImagesInput, ec2.DescribeImagesOutput, ec2.Options]
	describeInstanceTypeOfferings  call[ec2.DescribeInstanceTypeOfferingsInput, ec2.DescribeInstanceTypeOfferingsOutput, ec2.Options]
	describeInstanceTypes          call[ec2.DescribeInstanceTypesInput, ec2.DescribeInstanceTypesOutput, ec2.Options]
	describeInstances              call[ec2.DescribeInstancesInput, ec2.DescribeInstancesOutput, ec2.Options]
	describeLaunchTemplateVersions call[ec2.DescribeLaunchTemplateVersionsInput, ec2.DescribeLaunchTemplateVersionsOutput, ec2.Options]
	describeLaunchTemplates        call[ec2.DescribeLaunchTemplatesInput, ec2.DescribeLaunchTemplatesOutput, ec2.Options]
	describeNetworkInterfaces      call[ec2.DescribeNetworkInterfacesInput, ec2.DescribeNetworkInterfacesOutput, ec2.Options]
	describeRouteTables            call[ec2.DescribeRouteTablesInput, ec2.DescribeRouteTablesOutput, ec2.Options]
	describeSecurityGroups         call[ec2.DescribeSecurityGroupsInput, ec2.DescribeSecurityGroupsOutput, ec2.Options]
	describeSnapshots              call[ec2.DescribeSnapshotsInput, ec2.DescribeSnapshotsOutput, ec2.Options]
	describeSubnets                call[ec2.DescribeSubnetsInput, ec2.DescribeSubnetsOutput, ec2.Options]
	describeTags                   call[ec2.DescribeTagsInput, ec2.DescribeTagsOutput, ec2.Options]
	describeVolumes                call[ec2.DescribeVolumesInput, ec2.DescribeVolumesOutput, ec2.Options]
	describeVpcAttribute           call[ec2.DescribeVpcAttributeInput, ec2.DescribeVpcAttributeOutput, ec2.Options]
	describeVpcs                   call[ec2.DescribeVpcsInput, ec2.DescribeVpcsOutput, ec2.Options]
	getConsoleOutput               call[ec2.GetConsoleOutputInput, ec2.GetConsoleOutputOutput, ec2.Options]
	revokeSecurityGroupIngress     call[ec2.RevokeSecurityGroupIngressInput, ec2.RevokeSecurityGroupIngressOutput, ec2.Options]
	runInstances                   call[ec2.RunInstancesInput, ec2.RunInstancesOutput, ec2.Options]
	terminateInstances             call[ec2.TerminateInstancesInput, ec2.TerminateInstancesOutput, ec2.Options]
}

func newEc2Calls(cfg aws.Config) *ec2Calls {
	client := ec2.NewFromConfig(cfg)
	return &ec2Calls{
		createImage:                    client.CreateImage,
		createSnapshot:                 client.CreateSnapshot,
		createTags:                     client.CreateTags,
		deleteLaunchTemplate:           client.DeleteLaunchTemplate,
		deleteNetworkInterface:         client.DeleteNetworkInterface,
		deleteSecurityGroup:            client.DeleteSecurityGroup,
		deleteSnapshot:                 client.DeleteSnapshot,
		deleteTags:                     client.DeleteTags,
		deleteVolume:                   client.DeleteVolume,
		deregisterImage:                client.DeregisterImage,
		describeAddresses:              client.DescribeAddresses,
		describeDhcpOptions:            client.DescribeDhcpOptions,
		describeImages:                 client.DescribeImages,
		describeInstanceTypeOfferings:  client.DescribeInstanceTypeOfferings,
		describeInstanceTypes:          client.DescribeInstanceTypes,
		describeInstances:              client.DescribeInstances,
		describeLaunchTemplateVersions: client.DescribeLaunchTemplateVersions,
		describeLaunchTemplates:        client.DescribeLaunchTemplates,
		describeNetworkInterfaces:      client.DescribeNetworkInterfaces,
		describeRouteTables:            client.DescribeRouteTables,
		describeSecurityGroups:         client.DescribeSecurityGroups,
		describeSnapshots:              client.DescribeSnapshots,
		describeSubnets:                client.DescribeSubnets,
		describeTags:                   client.DescribeTags,
		describeVolumes:                client.DescribeVolumes,
		describeVpcAttribute:           client.DescribeVpcAttribute,
		describeVpcs:                   client.DescribeVpcs,
		getConsoleOutput:               client.GetConsoleOutput,
		revokeSecurityGroupIngress:     client.RevokeSecurityGroupIngress,
		runInstances:                   client.RunInstances,
		terminateInstances:             client.TerminateInstances,
	}
}

func (c *ec2Calls) CreateImage(
	ctx context.Context, in *ec2.CreateImageInput, options ...func(*ec2.Options),
) (*ec2.CreateImageOutput, error) {
	return c.createImage(ctx, in, options...)
}

func (c *ec2Calls) CreateSnapshot(
	ctx context.Context, in *ec2.CreateSnapshotInput, options ...func(*ec2.Options),
) (*ec2.CreateSnapshotOutput, error) {
	return c.createSnapshot(ctx, in, options...)
}

func (c *ec2Calls) CreateTags(ctx context.Context, in *ec2.CreateTagsInput, options ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error) {
	return c.createTags(ctx, in, options...)
}

func (c *ec2Calls) DeleteLaunchTemplate(
	ctx context.Context, in *ec2.DeleteLaunchTemplateInput, options ...func(*ec2.Options),
) (*ec2.DeleteLaunchTemplateOutput, error) {
	return c.deleteLaunchTemplate(ctx, in, options...)
}

func (c *ec2Calls) DeleteNetworkInterface(
	ctx context.Context, in *ec2.DeleteNetworkInterfaceInput, options ...func(*ec2.Options),
) (*ec2.DeleteNetworkInterfaceOutput, error) {
	return c.deleteNetworkInterface(ctx, in, options...)
}

func (c *ec2Calls) DeleteSecurityGroup(
	ctx context.Context, in *ec2.DeleteSecurityGroupInput, options ...func(*ec2.Options),
) (*ec2.DeleteSecurityGroupOutput, error) {
	return c.deleteSecurityGroup(ctx, in, options...)
}

func (c *ec2Calls) DeleteSnapshot(
	ctx context.Context, in *ec2.DeleteSnapshotInput, options ...func(*ec2.Options),
) (*ec2.DeleteSnapshotOutput, error) {
	return c.deleteSnapshot(ctx, in, options...)
}

func (c *ec2Calls) DeleteTags(ctx context.Context, in *ec2.DeleteTagsInput, options ...func(*ec2.Options)) (*ec2.DeleteTagsOutput, error) {
	return c.deleteTags(ctx, in, options...)
}

func (c *ec2Calls) DeleteVolume(
	ctx context.Context, in *ec2.DeleteVolumeInput, options ...func(*ec2.Options),
) (*ec2.DeleteVolumeOutput, error) {
	return c.deleteVolume(ctx, in, options...)
}

func (c *ec2Calls) DeregisterImage(
	ctx context.Context, in *ec2.DeregisterImageInput, options ...func(*ec2.Options),
) (*ec2.DeregisterImageOutput, error) {
	return c.deregisterImage(ctx, in, options...)
}

func (c *ec2Calls) DescribeAddresses(
	ctx context.Context, in *ec2.DescribeAddressesInput, options ...func(*ec2.Options),
) (*ec2.DescribeAddressesOutput, error) {
	return c.describeAddresses(ctx, in, options...)
}

func (c *ec2Calls) DescribeDhcpOptions(
	ctx context.Context, in *ec2.DescribeDhcpOptionsInput, options ...func(*ec2.Options),
) (*ec2.DescribeDhcpOptionsOutput, error) {
	return c.describeDhcpOptions(ctx, in, options...)
}

func (c *ec2Calls) DescribeImages(
	ctx context.Context, in *ec2.DescribeImagesInput, options ...func(*ec2.Options),
) (*ec2.DescribeImagesOutput, error) {
	return c.describeImages(ctx, in, options...)
}

func (c *ec2Calls) DescribeInstanceTypeOfferings(
	ctx context.Context, in *ec2.DescribeInstanceTypeOfferingsInput, options ...func(*ec2.Options),
) (*ec2.DescribeInstanceTypeOfferingsOutput, error) {
	return c.describeInstanceTypeOfferings(ctx, in, options...)
}

func (c *ec2Calls) DescribeInstanceTypes(
	ctx context.Context, in *ec2.DescribeInstanceTypesInput, options ...func(*ec2.Options),
) (*ec2.DescribeInstanceTypesOutput, error) {
	return c.describeInstanceTypes(ctx, in, options...)
}

func (c *ec2Calls) DescribeInstances(
	ctx context.Context, in *ec2.DescribeInstancesInput, options ...func(*ec2.Options),
) (*ec2.DescribeInstancesOutput, error) {
	return c.describeInstances(ctx, in, options...)
}

func (c *ec2Calls) DescribeLaunchTemplateVersions(
	ctx context.Context, in *ec2.DescribeLaunchTemplateVersionsInput, options ...func(*ec2.Options),
) (*ec2.DescribeLaunchTemplateVersionsOutput, error) {
	return c.describeLaunchTemplateVersions(ctx, in, options...)
}

func (c *ec2Calls) DescribeLaunchTemplates(
	ctx context.Context, in *ec2.DescribeLaunchTemplatesInput, options ...func(*ec2.Options),
) (*ec2.DescribeLaunchTemplatesOutput, error) {
	return c.describeLaunchTemplates(ctx, in, options...)
}

func (c *ec2Calls) DescribeNetworkInterfaces(
	ctx context.Context, in *ec2.DescribeNetworkInterfacesInput, options ...func(*ec2.Options),
) (*ec2.DescribeNetworkInterfacesOutput, error) {
	return c.describeNetworkInterfaces(ctx, in, options...)
}

func (c *ec2Calls) DescribeRouteTables(
	ctx context.Context, in *ec2.DescribeRouteTablesInput, options ...func(*ec2.Options),
) (*ec2.DescribeRouteTablesOutput, error) {
	return c.describeRouteTables(ctx, in, options...)
}

func (c *ec2Calls) DescribeSecurityGroups(
	ctx context.Context, in *ec2.DescribeSecurityGroupsInput, options ...func(*ec2.Options),
) (*ec2.DescribeSecurityGroupsOutput, error) {
	return c.describeSecurityGroups(ctx, in, options...)
}

func (c *ec2Calls) DescribeSnapshots(
	ctx context.Context, in *ec2.DescribeSnapshotsInput, options ...func(*ec2.Options),
) (*ec2.DescribeSnapshotsOutput, error) {
	return c.describeSnapshots(ctx, in, options...)
}

func (c *ec2Calls) DescribeSubnets(
	ctx context.Context, in *ec2.DescribeSubnetsInput, options ...func(*ec2.Options),
) (*ec2.DescribeSubnetsOutput, error) {
	return c.describeSubnets(ctx, in, options...)
}

func (c *ec2Calls) DescribeTags(
	ctx context.Context, in *ec2.DescribeTagsInput, options ...func(*ec2.Options),
) (*ec2.DescribeTagsOutput, error) {
	return c.describeTags(ctx, in, options...)
}

func (c *ec2Calls) DescribeVolumes(
	ctx context.Context, in *ec2.DescribeVolumesInput, options ...func(*ec2.Options),
) (*ec2.DescribeVolumesOutput, error) {
	return c.describeVolumes(ctx, in, options...)
}

func (c *ec2Calls) DescribeVpcAttribute(
	ctx context.Context, in *ec2.DescribeVpcAttributeInput, options ...func(*ec2.Options),
) (*ec2.DescribeVpcAttributeOutput, error) {
	return c.describeVpcAttribute(ctx, in, options...)
}

func (c *ec2Calls) DescribeVpcs(
	ctx context.Context, in *ec2.DescribeVpcsInput, options ...func(*ec2.Options),
) (*ec2.DescribeVpcsOutput, error) {
	return c.describeVpcs(ctx, in, options...)
}

func (c *ec2Calls) GetConsoleOutput(
	ctx context.Context, in *ec2.GetConsoleOutputInput, options ...func(*ec2.Options),
) (*ec2.GetConsoleOutputOutput, error) {
	return c.getConsoleOutput(ctx, in, options...)
}

func (c *ec2Calls) RevokeSecurityGroupIngress(
	ctx context.Context, in *ec2.RevokeSecurityGroupIngressInput, options ...func(*ec2.Options),
) (*ec2.RevokeSecurityGroupIngressOutput, error) {
	return c.revokeSecurityGroupIngress(ctx, in, options...)
}

func (c *ec2Calls) RunInstances(
	ctx context.Context, in *ec2.RunInstancesInput, options ...func(*ec2.Options),
) (*ec2.RunInstancesOutput, error) {
	return c.runInstances(ctx, in, options...)
}

func (c *ec2Calls) TerminateInstances(
	ctx context.Context, in *ec2.TerminateInstancesInput, options ...func(*ec2.Options),
) (*ec2.TerminateInstancesOutput, error) {
	return c.terminateInstances(ctx, in, options...)
}
