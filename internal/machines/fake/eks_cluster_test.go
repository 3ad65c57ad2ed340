package fake

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator"
	"github.com/aws-operator/aws-operator/internal/simulator/simulatortest"
)

// The simulated EKS gives the instances of a node group the NodeConfig, and authenticates their tokens.
func TestNodeGroupOfEKSJoins(t *testing.T) {
	host := New(Options{})
	_, endpoint := simulatortest.Start(t, simulator.Options{Region: demo.Region, Lag: simulator.NoLag, Machines: host})
	config := simulatortest.Root(endpoint, demo.Account, demo.Region)
	simulatortest.Stack(t, config, "demo", `Resources:
  VPC: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16, EnableDnsHostnames: true, EnableDnsSupport: true}}
  A: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref VPC, CidrBlock: 10.0.0.0/24, AvailabilityZone: eu-central-1a}}
  B: {Type: AWS::EC2::Subnet, Properties: {VpcId: !Ref VPC, CidrBlock: 10.0.1.0/24, AvailabilityZone: eu-central-1b}}
  ControlPlaneRole:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Principal: {Service: eks.amazonaws.com}, Action: sts:AssumeRole}]}
      ManagedPolicyArns: ["arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"]
  NodeRole:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument: {Version: "2012-10-17", Statement: [{Effect: Allow, Principal: {Service: ec2.amazonaws.com}, Action: sts:AssumeRole}]}
      ManagedPolicyArns:
        - arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy
        - arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly
        - arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy
  Cluster:
    Type: AWS::EKS::Cluster
    Properties:
      Name: demo
      Version: "1.36"
      RoleArn: !GetAtt ControlPlaneRole.Arn
      AccessConfig: {AuthenticationMode: API, BootstrapClusterCreatorAdminPermissions: true}
      ResourcesVpcConfig: {SubnetIds: [!Ref A, !Ref B]}
  Nodes:
    Type: AWS::EKS::Nodegroup
    Properties:
      ClusterName: !Ref Cluster
      NodeRole: !GetAtt NodeRole.Arn
      Subnets: [!Ref A, !Ref B]
      ScalingConfig: {MinSize: 1, MaxSize: 2, DesiredSize: 1}
      Labels: {team: a}
`)
	api, ok := host.ControlPlane(demo)
	if !ok {
		t.Fatal("the cluster has no API")
	}
	found, err := ec2.NewFromConfig(config).DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
	if err != nil || len(found.Reservations) != 1 {
		t.Fatalf("instances %+v, %v", found, err)
	}
	instance := found.Reservations[0].Instances[0]
	patience.Until(t, "the instance is a node", func() error {
		node := named(*instance.PrivateDnsName)
		node.ObjectMeta = metav1.ObjectMeta{Name: *instance.PrivateDnsName}
		if err := api.Get(node); err != nil {
			console, _ := host.Console(*instance.InstanceId)
			return fmt.Errorf("%w; console: %s", err, console)
		}
		if node.Labels["team"] != "a" || node.Labels["eks.amazonaws.com/nodegroup"] == "" {
			return fmt.Errorf("labels %v", node.Labels)
		}
		return nil
	})
}
