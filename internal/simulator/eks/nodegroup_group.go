package eks

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

func groupName(n *nodegroup) string { return *n.Resources.AutoScalingGroups[0].Name }

// nodegroupTags are the tags that EKS gives to what it creates for a node group.
func nodegroupTags(c *cluster, n *nodegroup) map[string]string {
	return map[string]string{"eks:cluster-name": *c.Name, "eks:nodegroup-name": *n.NodegroupName}
}

// addTemplate creates the launch template and the instance profile of a node group, and prepares the
// creation of its Auto Scaling group.
func (s *Service) addTemplate(c *cluster, n *nodegroup) error {
	data, err := s.templateData(c, n)
	if err != nil {
		return err
	}
	ctx := s.acting(c.at)
	tags := ec2types.TagSpecification{ResourceType: ec2types.ResourceTypeLaunchTemplate}
	for key, v := range nodegroupTags(c, n) {
		tags.Tags = append(tags.Tags, ec2types.Tag{Key: &key, Value: &v})
	}
	made, err := wire.Do[ec2.CreateLaunchTemplateOutput](ctx, s.options.EC2, "CreateLaunchTemplate", &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &n.unit, LaunchTemplateData: data, TagSpecifications: []ec2types.TagSpecification{tags},
	})
	if err != nil {
		return invalidRequest(*c.Name, "%s", messageOf(err))
	}
	n.template, n.version = *made.LaunchTemplate.LaunchTemplateId, "1"
	_, err = wire.Do[iam.CreateInstanceProfileOutput](ctx, s.options.IAM, "CreateInstanceProfile", &iam.CreateInstanceProfileInput{
		InstanceProfileName: &n.unit,
	})
	if err == nil {
		role := *n.NodeRole
		_, err = wire.Do[iam.AddRoleToInstanceProfileOutput](ctx, s.options.IAM, "AddRoleToInstanceProfile", &iam.AddRoleToInstanceProfileInput{
			InstanceProfileName: &n.unit, RoleName: new(role[strings.LastIndexByte(role, '/')+1:]),
		})
	}
	if err != nil {
		s.deleteTemplate(c, n)
		return invalidRequest(*c.Name, "%s", messageOf(err))
	}
	n.launch = func() error { return s.addGroup(c, n) }
	return nil
}

// templateData returns the launch template of EKS's own: that of the user with what nodes need.
// https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
func (s *Service) templateData(c *cluster, n *nodegroup) (*ec2types.RequestLaunchTemplateData, error) {
	data := &ec2types.RequestLaunchTemplateData{}
	if source := s.source(c, n); source != nil {
		text, err := json.Marshal(source)
		if err == nil {
			err = json.Unmarshal(text, data) // The members have the same names.
		}
		if err != nil {
			return nil, fmt.Errorf("copy a launch template: %w", err)
		}
	}
	if n.AmiType != types.AMITypesCustom {
		image, ok := s.image(c.at.Region, n.AmiType, *n.Version)
		if !ok {
			return nil, unsupported(*c.Name, "images of type "+string(n.AmiType)+" for version "+*n.Version)
		}
		data.ImageId = &image
	}
	text, err := userData(c, n, *data.ImageId, value(data.UserData))
	if err != nil {
		return nil, invalidRequest(*c.Name, "%s", err)
	}
	data.UserData = wire.Optional(text)
	data.IamInstanceProfile = &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: &n.unit}
	if len(data.SecurityGroupIds) == 0 && len(data.NetworkInterfaces) == 0 {
		data.SecurityGroupIds = []string{*c.ResourcesVpcConfig.ClusterSecurityGroupId}
	}
	if n.DiskSize != nil {
		data.BlockDeviceMappings = []ec2types.LaunchTemplateBlockDeviceMappingRequest{{
			DeviceName: new("/dev/xvda"), Ebs: &ec2types.LaunchTemplateEbsBlockDeviceRequest{
				VolumeSize: n.DiskSize, VolumeType: ec2types.VolumeTypeGp3, DeleteOnTermination: new(true),
			},
		}}
	}
	if data.MetadataOptions == nil {
		data.MetadataOptions = &ec2types.LaunchTemplateInstanceMetadataOptionsRequest{HttpPutResponseHopLimit: new(int32(2))}
	}
	for _, kind := range []ec2types.ResourceType{ec2types.ResourceTypeInstance, ec2types.ResourceTypeVolume} {
		data.TagSpecifications = withTags(data.TagSpecifications, kind, nodegroupTags(c, n))
	}
	return data, nil
}

// withTags adds tags of a type of resources to those that a launch template has.
func withTags(
	specs []ec2types.LaunchTemplateTagSpecificationRequest, kind ec2types.ResourceType, added map[string]string,
) []ec2types.LaunchTemplateTagSpecificationRequest {
	var tags []ec2types.Tag
	for key, v := range added {
		tags = append(tags, ec2types.Tag{Key: &key, Value: &v})
	}
	for i := range specs {
		if specs[i].ResourceType == kind {
			specs[i].Tags = append(specs[i].Tags, tags...)
			return specs
		}
	}
	return append(specs, ec2types.LaunchTemplateTagSpecificationRequest{ResourceType: kind, Tags: tags})
}

// policy returns what an Auto Scaling group launches.
func (n *nodegroup) policy() *astypes.MixedInstancesPolicy {
	onDemand := int32(100)
	distribution := &astypes.InstancesDistribution{OnDemandPercentageAboveBaseCapacity: &onDemand}
	if n.CapacityType == types.CapacityTypesSpot {
		onDemand, distribution.SpotAllocationStrategy = 0, new("price-capacity-optimized")
	}
	policy := &astypes.MixedInstancesPolicy{
		InstancesDistribution: distribution,
		LaunchTemplate: &astypes.LaunchTemplate{
			LaunchTemplateSpecification: &astypes.LaunchTemplateSpecification{LaunchTemplateId: &n.template, Version: &n.version},
		},
	}
	for _, kind := range n.InstanceTypes {
		policy.LaunchTemplate.Overrides = append(policy.LaunchTemplate.Overrides, astypes.LaunchTemplateOverrides{InstanceType: &kind})
	}
	return policy
}

// addGroup creates the Auto Scaling group of a node group.
func (s *Service) addGroup(c *cluster, n *nodegroup) error {
	tags := nodegroupTags(c, n)
	tags["kubernetes.io/cluster/"+*c.Name] = "owned"
	// https://docs.aws.amazon.com/eks/latest/best-practices/cas.html
	tags["k8s.io/cluster-autoscaler/enabled"] = "true"
	tags["k8s.io/cluster-autoscaler/"+*c.Name] = "owned"
	in := &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: new(groupName(n)), MixedInstancesPolicy: n.policy(), VPCZoneIdentifier: new(strings.Join(n.Subnets, ",")),
		MinSize: n.ScalingConfig.MinSize, MaxSize: n.ScalingConfig.MaxSize, DesiredCapacity: n.ScalingConfig.DesiredSize,
		HealthCheckType: new("EC2"), HealthCheckGracePeriod: new(int32(15)),
		CapacityRebalance:   new(n.CapacityType == types.CapacityTypesSpot),
		TerminationPolicies: []string{"AllocationStrategy", "OldestLaunchTemplate", "OldestInstance"},
	}
	for key, v := range tags {
		in.Tags = append(in.Tags, astypes.Tag{Key: &key, Value: &v, PropagateAtLaunch: new(true)})
	}
	_, err := wire.Do[autoscaling.CreateAutoScalingGroupOutput](s.acting(c.at), s.options.Groups, "CreateAutoScalingGroup", in)
	return err
}

// group returns the Auto Scaling group of a node group.
func (s *Service) group(c *cluster, n *nodegroup) (group astypes.AutoScalingGroup, exists bool) {
	out, err := wire.Do[autoscaling.DescribeAutoScalingGroupsOutput](s.acting(c.at), s.options.Groups, "DescribeAutoScalingGroups",
		&autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{groupName(n)}})
	if err != nil || len(out.AutoScalingGroups) == 0 {
		return group, false
	}
	return out.AutoScalingGroups[0], true
}

// ready counts the nodes of a group that are ready, all its instances and those that it should have. On
// a host that knows no nodes, the instances in service are ready.
func (s *Service) ready(c *cluster, n *nodegroup) (ready, total, desired int) {
	group, exists := s.group(c, n)
	if !exists {
		return 0, 0, 1
	}
	host, knows := s.options.Host.(Nodes)
	for _, i := range group.Instances {
		if i.LifecycleState == astypes.LifecycleStateInService && (!knows || host.NodeReady(c.key(), *i.InstanceId)) {
			ready++
		}
	}
	return ready, len(group.Instances), int(*group.DesiredCapacity)
}

// launchFailures returns the message and the number of the latest launches that failed.
func (s *Service) launchFailures(c *cluster, n *nodegroup) (message string, count int) {
	out, err := wire.Do[autoscaling.DescribeScalingActivitiesOutput](s.acting(c.at), s.options.Groups, "DescribeScalingActivities",
		&autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: new(groupName(n))})
	if err != nil {
		return "", 0
	}
	for _, a := range out.Activities {
		if a.StatusCode == astypes.ScalingActivityStatusCodeFailed {
			if count++; message == "" {
				message = value(a.StatusMessage)
			}
		}
	}
	return message, count
}

// deleteGroup begins to delete the Auto Scaling group of a node group with its instances.
func (s *Service) deleteGroup(c *cluster, n *nodegroup) {
	// A group that does not exist is deleted.
	_, _ = wire.Do[autoscaling.DeleteAutoScalingGroupOutput](s.acting(c.at), s.options.Groups, "DeleteAutoScalingGroup",
		&autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: new(groupName(n)), ForceDelete: new(true)})
}

// deleteTemplate deletes the launch template and the instance profile of a node group. It ignores what
// does not exist.
func (s *Service) deleteTemplate(c *cluster, n *nodegroup) {
	ctx, role := s.acting(c.at), *n.NodeRole
	_, _ = wire.Do[ec2.DeleteLaunchTemplateOutput](ctx, s.options.EC2, "DeleteLaunchTemplate", &ec2.DeleteLaunchTemplateInput{
		LaunchTemplateId: &n.template,
	})
	_, _ = wire.Do[iam.RemoveRoleFromInstanceProfileOutput](ctx, s.options.IAM, "RemoveRoleFromInstanceProfile", &iam.RemoveRoleFromInstanceProfileInput{
		InstanceProfileName: &n.unit, RoleName: new(role[strings.LastIndexByte(role, '/')+1:]),
	})
	_, _ = wire.Do[iam.DeleteInstanceProfileOutput](ctx, s.options.IAM, "DeleteInstanceProfile", &iam.DeleteInstanceProfileInput{
		InstanceProfileName: &n.unit,
	})
}

// changeTemplate adds a version to the launch template of a node group, which the group uses from now
// on.
func (s *Service) changeTemplate(c *cluster, n *nodegroup, data *ec2types.RequestLaunchTemplateData) error {
	ctx := s.acting(c.at)
	made, err := wire.Do[ec2.CreateLaunchTemplateVersionOutput](ctx, s.options.EC2, "CreateLaunchTemplateVersion", &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &n.template, LaunchTemplateData: data,
	})
	if err != nil {
		return invalidRequest(*c.Name, "%s", messageOf(err))
	}
	n.version = strconv.FormatInt(*made.LaunchTemplateVersion.VersionNumber, 10)
	_, err = wire.Do[autoscaling.UpdateAutoScalingGroupOutput](ctx, s.options.Groups, "UpdateAutoScalingGroup", &autoscaling.UpdateAutoScalingGroupInput{
		AutoScalingGroupName: new(groupName(n)), MixedInstancesPolicy: n.policy(),
	})
	if err != nil {
		return invalidRequest(*c.Name, "%s", messageOf(err))
	}
	return nil
}
