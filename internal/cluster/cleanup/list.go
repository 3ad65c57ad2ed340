package cleanup

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/route53"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// Found is a resource that a cluster created outside its stacks.
type Found struct {
	// Type is its CloudFormation type, ID its ID in AWS.
	Type, ID string
	// Kept is why a deletion leaves it; empty if it is deleted.
	Kept string
}

// List returns the resources outside the stacks that a deletion of the cluster would find now. It
// uses the same search without deleting anything. It returns the errors of AWS.
func (c *Cleaner) List(ctx context.Context, cluster *v1alpha1.Cluster, target awsapi.Target) ([]Found, error) {
	h := c.collector(cluster, target)
	if h.vpc == "" {
		return nil, nil
	}
	seen := &seen{}
	h.ec2, h.balancers = spareEC2{h.ec2, seen}, spareBalancers{h.balancers, seen}
	h.classic, h.records = spareClassic{h.classic, seen}, spareRecords{h.records, seen}
	steps := []func(context.Context) error{
		h.instances, h.templates, h.classicBalancers, h.loadBalancers, h.targetGroups, h.interfaces, h.groups, h.volumes, h.names,
	}
	if !h.keepSnapshots {
		steps = append(steps, func(ctx context.Context) error { return h.snapshots(ctx, cluster) })
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, awsapi.Explain(err)
		}
	}
	for _, id := range h.waits { // A resource in use is deleted after its user.
		seen.note(typeOf(id), id)
	}
	kept, err := h.expected(ctx)
	if err != nil {
		return nil, awsapi.Explain(err)
	}
	if err := h.forgetDisks(ctx, kept); err != nil {
		return nil, awsapi.Explain(err)
	}
	for _, id := range slices.Sorted(maps.Keys(kept)) {
		why := "spec.volumePolicy keeps volumes of claims, since it is not " + string(v1alpha1.VolumesDelete)
		if strings.HasPrefix(id, "snap-") {
			why = "the annotation " + KeepSnapshotsAnnotation + " keeps snapshots of etcd"
		}
		seen.found = append(seen.found, Found{Type: typeOf(id), ID: id, Kept: why})
	}
	return seen.found, nil
}

// forgetDisks removes the volumes that are deleted with their instances.
func (h *collector) forgetDisks(ctx context.Context, volumes map[string]bool) error {
	pages := ec2.NewDescribeVolumesPaginator(h.ec2, &ec2.DescribeVolumesInput{Filters: []types.Filter{
		h.owned(), filter("attachment.delete-on-termination", "true"),
	}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err //nolint:wrapcheck // explained by the caller
		}
		for i := range page.Volumes {
			delete(volumes, aws.ToString(page.Volumes[i].VolumeId))
		}
	}
	return nil
}

// typeOf derives the type of an EC2 resource from its ID.
func typeOf(id string) string {
	prefix, _, _ := strings.Cut(id, "-")
	return map[string]string{
		"i": "AWS::EC2::Instance", "lt": "AWS::EC2::LaunchTemplate", "eni": "AWS::EC2::NetworkInterface", "sg": "AWS::EC2::SecurityGroup", "vol": "AWS::EC2::Volume", "snap": "AWS::EC2::Snapshot",
	}[prefix]
}

// seen collects what would have been deleted.
type seen struct{ found []Found }

func (s *seen) note(resourceType, id string) {
	if one := (Found{Type: resourceType, ID: id}); !slices.Contains(s.found, one) {
		s.found = append(s.found, one)
	}
}

// spareEC2 records deletions without executing them, like the other spare types.
type spareEC2 struct {
	awsapi.Leftovers

	seen *seen
}

// TerminateInstances records the instances.
func (s spareEC2) TerminateInstances(
	_ context.Context, in *ec2.TerminateInstancesInput, _ ...func(*ec2.Options),
) (*ec2.TerminateInstancesOutput, error) {
	for _, id := range in.InstanceIds {
		s.seen.note("AWS::EC2::Instance", id)
	}
	return &ec2.TerminateInstancesOutput{}, nil
}

// DeleteLaunchTemplate records the launch template.
func (s spareEC2) DeleteLaunchTemplate(
	_ context.Context, in *ec2.DeleteLaunchTemplateInput, _ ...func(*ec2.Options),
) (*ec2.DeleteLaunchTemplateOutput, error) {
	s.seen.note("AWS::EC2::LaunchTemplate", aws.ToString(in.LaunchTemplateId))
	return &ec2.DeleteLaunchTemplateOutput{}, nil
}

// DeleteNetworkInterface records the interface.
func (s spareEC2) DeleteNetworkInterface(
	_ context.Context, in *ec2.DeleteNetworkInterfaceInput, _ ...func(*ec2.Options),
) (*ec2.DeleteNetworkInterfaceOutput, error) {
	s.seen.note("AWS::EC2::NetworkInterface", aws.ToString(in.NetworkInterfaceId))
	return &ec2.DeleteNetworkInterfaceOutput{}, nil
}

// DeleteSecurityGroup records the security group.
func (s spareEC2) DeleteSecurityGroup(
	_ context.Context, in *ec2.DeleteSecurityGroupInput, _ ...func(*ec2.Options),
) (*ec2.DeleteSecurityGroupOutput, error) {
	s.seen.note("AWS::EC2::SecurityGroup", aws.ToString(in.GroupId))
	return &ec2.DeleteSecurityGroupOutput{}, nil
}

// RevokeSecurityGroupIngress does nothing: the rule would be deleted with its source group.
func (s spareEC2) RevokeSecurityGroupIngress(
	context.Context, *ec2.RevokeSecurityGroupIngressInput, ...func(*ec2.Options),
) (*ec2.RevokeSecurityGroupIngressOutput, error) {
	return &ec2.RevokeSecurityGroupIngressOutput{}, nil
}

// DeleteVolume records the volume.
func (s spareEC2) DeleteVolume(_ context.Context, in *ec2.DeleteVolumeInput, _ ...func(*ec2.Options)) (*ec2.DeleteVolumeOutput, error) {
	s.seen.note("AWS::EC2::Volume", aws.ToString(in.VolumeId))
	return &ec2.DeleteVolumeOutput{}, nil
}

// DeleteSnapshot records the snapshot.
func (s spareEC2) DeleteSnapshot(
	_ context.Context, in *ec2.DeleteSnapshotInput, _ ...func(*ec2.Options),
) (*ec2.DeleteSnapshotOutput, error) {
	s.seen.note("AWS::EC2::Snapshot", aws.ToString(in.SnapshotId))
	return &ec2.DeleteSnapshotOutput{}, nil
}

type spareBalancers struct {
	awsapi.LoadBalancers

	seen *seen
}

// DeleteLoadBalancer records the load balancer.
func (s spareBalancers) DeleteLoadBalancer(
	_ context.Context, in *elbv2.DeleteLoadBalancerInput, _ ...func(*elbv2.Options),
) (*elbv2.DeleteLoadBalancerOutput, error) {
	s.seen.note("AWS::ElasticLoadBalancingV2::LoadBalancer", aws.ToString(in.LoadBalancerArn))
	return &elbv2.DeleteLoadBalancerOutput{}, nil
}

// DeleteTargetGroup records the target group.
func (s spareBalancers) DeleteTargetGroup(
	_ context.Context, in *elbv2.DeleteTargetGroupInput, _ ...func(*elbv2.Options),
) (*elbv2.DeleteTargetGroupOutput, error) {
	s.seen.note("AWS::ElasticLoadBalancingV2::TargetGroup", aws.ToString(in.TargetGroupArn))
	return &elbv2.DeleteTargetGroupOutput{}, nil
}

type spareClassic struct {
	awsapi.ClassicLoadBalancers

	seen *seen
}

// DeleteLoadBalancer records the load balancer.
func (s spareClassic) DeleteLoadBalancer(
	_ context.Context, in *elb.DeleteLoadBalancerInput, _ ...func(*elb.Options),
) (*elb.DeleteLoadBalancerOutput, error) {
	s.seen.note("AWS::ElasticLoadBalancing::LoadBalancer", aws.ToString(in.LoadBalancerName))
	return &elb.DeleteLoadBalancerOutput{}, nil
}

type spareRecords struct {
	awsapi.Records

	seen *seen
}

// ChangeResourceRecordSets records the names.
func (s spareRecords) ChangeResourceRecordSets(
	_ context.Context, in *route53.ChangeResourceRecordSetsInput, _ ...func(*route53.Options),
) (*route53.ChangeResourceRecordSetsOutput, error) {
	for _, change := range in.ChangeBatch.Changes {
		s.seen.note("AWS::Route53::RecordSet", aws.ToString(change.ResourceRecordSet.Name))
	}
	return &route53.ChangeResourceRecordSetsOutput{}, nil
}
