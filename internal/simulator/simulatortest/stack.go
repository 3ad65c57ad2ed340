package simulatortest

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// longest is how long a stack may take.
const longest = 10 * time.Minute

// Stack makes a stack that is not the operator's.
func Stack(tb testing.TB, config aws.Config, name, template string) {
	tb.Helper()
	stacks := cloudformation.NewFromConfig(config)
	_, err := stacks.CreateStack(tb.Context(), &cloudformation.CreateStackInput{
		StackName: &name, TemplateBody: &template, Capabilities: []types.Capability{types.CapabilityCapabilityNamedIam},
	})
	if err != nil {
		tb.Fatal(err)
	}
	created := cloudformation.NewStackCreateCompleteWaiter(stacks, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, 100*time.Millisecond
	})
	if err := created.Wait(tb.Context(), &cloudformation.DescribeStacksInput{StackName: &name}, longest); err != nil {
		tb.Fatalf("stack %s is not created: %v", name, err)
	}
}

// EKSCluster makes an EKS cluster, with a network and a role of its own, in a stack of its own.
func EKSCluster(tb testing.TB, config aws.Config, name string) {
	tb.Helper()
	Stack(tb, config, "eks-"+name, `Resources:
  Network: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.99.0.0/16}}
  A: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Network, CidrBlock: 10.99.0.0/24, AvailabilityZone: !Select [0, !GetAZs ""]}}
  B: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref Network, CidrBlock: 10.99.1.0/24, AvailabilityZone: !Select [1, !GetAZs ""]}}
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Version: "2012-10-17"
        Statement: [{Effect: Allow, Principal: {Service: eks.amazonaws.com}, Action: "sts:AssumeRole"}]
  Cluster: {Type: AWS::EKS::Cluster, Properties: {Name: "`+name+`", RoleArn: !GetAtt Role.Arn, ResourcesVpcConfig: {SubnetIds: [!Ref A, !Ref B]}}}
`)
}
