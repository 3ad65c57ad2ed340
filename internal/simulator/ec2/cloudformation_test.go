package ec2_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsssm "github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// stackTemplate contains all types of this package. AWS documents their schemas:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_EC2.html
const stackTemplate = `
Parameters:
  Subnet: {Type: String}
  Image:
    Type: AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>
    Default: /aws/service/canonical/ubuntu/server/24.04/stable/20260610/amd64/hvm/ebs-gp3/ami-id
Resources:
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateName: nodes
      LaunchTemplateData:
        ImageId: !Ref Image
        InstanceType: TYPE
        UserData: !Base64 "#!/bin/sh"
        MetadataOptions: {HttpTokens: required, HttpPutResponseHopLimit: 1, InstanceMetadataTags: enabled}
        BlockDeviceMappings:
          - DeviceName: /dev/sda1
            Ebs: {VolumeSize: 20, VolumeType: gp3, Encrypted: true}
        TagSpecifications:
          - {ResourceType: instance, Tags: [{Key: from, Value: template}]}
  Instance:
    Type: AWS::EC2::Instance
    Properties:
      SubnetId: !Ref Subnet
      LaunchTemplate: {LaunchTemplateId: !Ref Template, Version: "1"}
      Tags: [{Key: Name, Value: one}]
  Volume:
    Type: AWS::EC2::Volume
    DeletionPolicy: Snapshot
    Properties: {AvailabilityZone: !GetAtt Instance.AvailabilityZone, Size: 10, VolumeType: gp3, Tags: [{Key: Name, Value: data}]}
  Attachment:
    Type: AWS::EC2::VolumeAttachment
    Properties: {InstanceId: !Ref Instance, VolumeId: !Ref Volume, Device: /dev/sdf}
  Key:
    Type: AWS::EC2::KeyPair
    Properties:
      KeyName: mine
      PublicKeyMaterial: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGNhcmVmdWxseWNob3NlbmJ5bm9ib2R5YXRhbGwhISEh
Outputs:
  Instance: {Value: !Ref Instance}
  Volume: {Value: !Ref Volume}
  Latest: {Value: !GetAtt Template.LatestVersionNumber}
  IP: {Value: !GetAtt Instance.PrivateIp}
`

type stacks struct {
	*cloudformation.Client

	t *testing.T
}

func (s *stacks) settled(status cfntypes.StackStatus) map[string]string {
	s.t.Helper()
	deadline := time.NewTimer(patience.Left(s.t))
	defer deadline.Stop()
	for {
		out, err := s.DescribeStacks(s.t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("s")})
		if err != nil {
			if status == cfntypes.StackStatusDeleteComplete && strings.Contains(err.Error(), "does not exist") {
				return nil
			}
			s.t.Fatal(err)
		}
		stack := out.Stacks[0]
		if stack.StackStatus == status {
			outputs := map[string]string{}
			for _, o := range stack.Outputs {
				outputs[*o.OutputKey] = *o.OutputValue
			}
			return outputs
		}
		select {
		case <-deadline.C:
			s.t.Fatalf("the stack stays %s", stack.StackStatus)
		default:
		}
		if !strings.HasSuffix(string(stack.StackStatus), "IN_PROGRESS") {
			events, _ := s.DescribeStackEvents(s.t.Context(), &cloudformation.DescribeStackEventsInput{StackName: aws.String("s")})
			for _, e := range events.StackEvents {
				s.t.Log(*e.LogicalResourceId, e.ResourceStatus, aws.ToString(e.ResourceStatusReason))
			}
			s.t.Fatalf("the stack is %s: %s", stack.StackStatus, aws.ToString(stack.StackStatusReason))
		}
	}
}

func TestStackOfInstancesAndVolumes(t *testing.T) {
	sim := simulator.New(simulator.Options{Lag: simulator.NoLag})
	t.Cleanup(sim.Close)
	config := wiretest.ServeRoot(t, sim.Handler())
	client, ctx := awsec2.NewFromConfig(config), t.Context()
	s := &stacks{cloudformation.NewFromConfig(config), t}
	network, err := client.CreateVpc(ctx, &awsec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	if err != nil {
		t.Fatal(err)
	}
	subnet, err := client.CreateSubnet(ctx, &awsec2.CreateSubnetInput{VpcId: network.Vpc.VpcId, CidrBlock: aws.String("10.0.0.0/24")})
	if err != nil {
		t.Fatal(err)
	}
	parameters := []cfntypes.Parameter{{ParameterKey: aws.String("Subnet"), ParameterValue: subnet.Subnet.SubnetId}}
	body := func(kind string) *string { return aws.String(strings.ReplaceAll(stackTemplate, "TYPE", kind)) }
	if _, err := s.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: aws.String("s"), TemplateBody: body("m6i.large"), Parameters: parameters,
		Tags: []cfntypes.Tag{{Key: aws.String("team"), Value: aws.String("blue")}},
	}); err != nil {
		t.Fatal(err)
	}
	made := s.settled(cfntypes.StackStatusCreateComplete)
	found, err := client.DescribeInstances(ctx, &awsec2.DescribeInstancesInput{InstanceIds: []string{made["Instance"]}})
	if err != nil {
		t.Fatal(err)
	}
	i := found.Reservations[0].Instances[0]
	tags := map[string]string{}
	for _, tag := range i.Tags {
		tags[*tag.Key] = *tag.Value
	}
	if tags["Name"] != "one" || tags["from"] != "template" || tags["team"] != "blue" ||
		tags["aws:cloudformation:logical-id"] != "Instance" {
		t.Errorf("tagged %v", tags)
	}
	if i.State.Name != types.InstanceStateNameRunning || i.MetadataOptions.HttpTokens != types.HttpTokensStateRequired ||
		len(i.BlockDeviceMappings) != 2 {
		t.Errorf("described as %+v", i)
	}
	if made["Latest"] != "1" || made["IP"] != *i.PrivateIpAddress {
		t.Errorf("outputs %v", made)
	}

	if _, err := s.UpdateStack(ctx, &cloudformation.UpdateStackInput{StackName: aws.String("s"), TemplateBody: body("m6i.xlarge"), Parameters: parameters}); err != nil {
		t.Fatal(err)
	}
	if made := s.settled(cfntypes.StackStatusUpdateComplete); made["Latest"] != "2" {
		t.Errorf("a new version of the template: %v", made)
	}

	if _, err := s.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: aws.String("s")}); err != nil {
		t.Fatal(err)
	}
	s.settled(cfntypes.StackStatusDeleteComplete)
	volumes, err := client.DescribeVolumes(ctx, &awsec2.DescribeVolumesInput{})
	if err != nil || len(volumes.Volumes) != 0 {
		t.Errorf("volumes are left: %+v %v", volumes, err)
	}
	snapshots, err := client.DescribeSnapshots(ctx, &awsec2.DescribeSnapshotsInput{OwnerIds: []string{"self"}})
	if err != nil || len(snapshots.Snapshots) != 1 || *snapshots.Snapshots[0].VolumeId != made["Volume"] {
		t.Errorf("snapshots: %+v %v", snapshots, err)
	}
	if _, err := client.DeleteSubnet(ctx, &awsec2.DeleteSubnetInput{SubnetId: subnet.Subnet.SubnetId}); err != nil {
		t.Errorf("the subnet is not free: %v", err)
	}
}

func TestPublicParametersNameImages(t *testing.T) {
	sim := simulator.New(simulator.Options{Lag: simulator.NoLag})
	t.Cleanup(sim.Close)
	config := wiretest.ServeRoot(t, sim.Handler())
	const base = "/aws/service/canonical/ubuntu/server/"
	read := func(name string) (string, error) {
		out, err := awsssm.NewFromConfig(config).GetParameter(t.Context(), &awsssm.GetParameterInput{Name: aws.String(base + name)})
		if err != nil {
			return "", err
		}
		return *out.Parameter.Value, nil
	}
	dated, err := read("24.04/stable/20250610/arm64/hvm/ebs-gp3/ami-id")
	if err != nil {
		t.Fatal(err)
	}
	again, _ := read("noble/stable/20250610/arm64/hvm/ebs-gp3/ami-id")
	other, _ := read("24.04/stable/current/arm64/hvm/ebs-gp3/ami-id")
	if dated != again || dated == other || !strings.HasPrefix(other, "ami-") {
		t.Errorf("images %s, %s and %s", dated, again, other)
	}
	for _, name := range []string{"24.04/stable/20250610/riscv/hvm/ebs-gp3/ami-id", "9.10/stable/current/amd64/hvm/ebs-gp3/ami-id"} {
		_, err := read(name)
		wiretest.WantCode(t, err, "ParameterNotFound")
	}
	out, err := awsec2.NewFromConfig(config).
		DescribeImages(t.Context(), &awsec2.DescribeImagesInput{ImageIds: []string{dated}, Owners: []string{"099720109477"}})
	if err != nil || len(out.Images) != 1 || out.Images[0].Architecture != types.ArchitectureValuesArm64 ||
		!strings.HasSuffix(*out.Images[0].Name, "-20250610") {
		t.Errorf("described as %+v %v", out, err)
	}
}

func TestPublicParametersNameAmazonImages(t *testing.T) {
	sim := simulator.New(simulator.Options{Lag: simulator.NoLag})
	t.Cleanup(sim.Close)
	config := wiretest.ServeRoot(t, sim.Handler())
	for parameter, want := range map[string]string{
		"/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64":                       "al2023-ami-2023.* arm64 /dev/xvda 8",
		"/aws/service/ami-amazon-linux-latest/al2023-ami-minimal-kernel-default-x86_64":              "al2023-ami-minimal-2023.* x86_64 /dev/xvda 8",
		"/aws/service/bottlerocket/aws-k8s-1.34/arm64/latest/image_id":                               "bottlerocket-aws-k8s-1.34-arm64-* arm64 /dev/xvda 2 20",
		"/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id": "amazon-eks-node-al2023-x86_64-standard-1.34-* x86_64 /dev/xvda 20",
		"/aws/service/bottlerocket/aws-k8s-1.34-nvidia/x86_64/latest/image_id":                       "bottlerocket-aws-k8s-1.34-nvidia-x86_64-* x86_64 /dev/xvda 2 20",
		"/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/arm64/nvidia/recommended/image_id":    "amazon-eks-node-al2023-arm64-nvidia-1.34-* arm64 /dev/xvda 20",
		"/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/neuron/recommended/image_id":   "amazon-eks-node-al2023-x86_64-neuron-1.34-* x86_64 /dev/xvda 20",
		"/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/arm64/neuron/recommended/image_id":    "",
		"/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-amd64":                       "",
		"/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended/other":    "",
		"/aws/service/bottlerocket/aws-k8s-1.99/arm64/latest/image_id":                               "",
	} {
		named, err := awsssm.NewFromConfig(config).GetParameter(t.Context(), &awsssm.GetParameterInput{Name: &parameter})
		if want == "" {
			wiretest.WantCode(t, err, "ParameterNotFound")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := awsec2.NewFromConfig(config).
			DescribeImages(t.Context(), &awsec2.DescribeImagesInput{ImageIds: []string{*named.Parameter.Value}, Owners: []string{"amazon"}})
		if err != nil || len(out.Images) != 1 {
			t.Fatalf("%s: %+v %v", parameter, out, err)
		}
		image := out.Images[0]
		got := fmt.Sprintf("%s %s %s", *image.Name, image.Architecture, *image.RootDeviceName)
		for _, device := range image.BlockDeviceMappings {
			got += fmt.Sprintf(" %d", *device.Ebs.VolumeSize)
		}
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(want), `\*`, ".*") + "$"
		if !regexp.MustCompile(pattern).MatchString(got) {
			t.Errorf("%s names %s, not %s", parameter, got, want)
		}
	}
}
