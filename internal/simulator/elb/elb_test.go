package elb_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
	"github.com/aws-operator/aws-operator/internal/simulator/elb"
	"github.com/aws-operator/aws-operator/internal/simulator/elbv2"
	"github.com/aws-operator/aws-operator/internal/simulator/iam"
	"github.com/aws-operator/aws-operator/internal/simulator/kms"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

// The test makes the calls of the cloud controller for a Service of type LoadBalancer.
func TestLoadBalancerOfService(t *testing.T) {
	ctx := t.Context()
	env := &resource.Env{Clock: testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	keys := &wire.Keys{}
	networks := vpc.New(env)
	compute := ec2.New(env, networks, ec2.Options{Profiles: iam.New(env, keys), Ciphers: kms.New(env), Keys: keys})
	newer := elbv2.New(env, elbv2.Options{Compute: compute, Networks: networks})
	t.Cleanup(func() { newer.Close(); compute.Close() })
	config := wiretest.Serve(t, wire.NewRouter([]*wire.Service{
		compute.Service(), newer.Service(), elb.New(env, elb.Options{Compute: compute, Networks: networks}).Service(),
	}, nil, env.Clock))
	machines, c := awsec2.NewFromConfig(config), awselb.NewFromConfig(config)

	made, err := machines.CreateVpc(ctx, &awsec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	vpcID := must(t, made, err).Vpc.VpcId
	net, err := machines.CreateSubnet(ctx, &awsec2.CreateSubnetInput{VpcId: vpcID, CidrBlock: aws.String("10.0.1.0/24")})
	subnet := *must(t, net, err).Subnet.SubnetId
	group, err := machines.CreateSecurityGroup(
		ctx, &awsec2.CreateSecurityGroupInput{GroupName: aws.String("k8s-elb-a1"), Description: aws.String("x"), VpcId: vpcID},
	)
	groupID := *must(t, group, err).GroupId
	image, _ := compute.PublicParameter(
		"eu-central-1", "/aws/service/canonical/ubuntu/server/24.04/stable/20260610/amd64/hvm/ebs-gp3/ami-id",
	)
	run, err := machines.RunInstances(ctx, &awsec2.RunInstancesInput{
		ImageId: &image, InstanceType: ec2types.InstanceTypeM6iLarge, SubnetId: &subnet, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
	})
	instance := types.Instance{InstanceId: must(t, run, err).Instances[0].InstanceId}

	in := &awselb.CreateLoadBalancerInput{
		LoadBalancerName: aws.String("a1"), Subnets: []string{subnet}, SecurityGroups: []string{groupID}, Scheme: aws.String("internal"),
		Listeners: []types.Listener{
			{LoadBalancerPort: 80, InstancePort: aws.Int32(30080), Protocol: aws.String("tcp"), InstanceProtocol: aws.String("tcp")},
		},
		Tags: []types.Tag{{Key: aws.String("kubernetes.io/cluster/demo"), Value: aws.String("owned")}},
	}
	first, err := c.CreateLoadBalancer(ctx, in)
	again, err2 := c.CreateLoadBalancer(ctx, in)
	if *must(t, first, err).DNSName != *must(t, again, err2).DNSName {
		t.Error("the same request made another load balancer")
	}
	in.Scheme = nil
	_, err = c.CreateLoadBalancer(ctx, in)
	wiretest.WantCode(t, err, "DuplicateLoadBalancerName")

	_, err = c.RegisterInstancesWithLoadBalancer(
		ctx, &awselb.RegisterInstancesWithLoadBalancerInput{LoadBalancerName: aws.String("a1"), Instances: []types.Instance{instance}},
	)
	must(t, instance, err)
	_, err = c.ConfigureHealthCheck(
		ctx,
		&awselb.ConfigureHealthCheckInput{LoadBalancerName: aws.String("a1"), HealthCheck: &types.HealthCheck{
			Target: aws.String("TCP:30080"), Interval: aws.Int32(10), Timeout: aws.Int32(5), HealthyThreshold: aws.Int32(2),
			UnhealthyThreshold: aws.Int32(6),
		}},
	)
	must(t, instance, err)
	_, err = c.ModifyLoadBalancerAttributes(
		ctx,
		&awselb.ModifyLoadBalancerAttributesInput{LoadBalancerName: aws.String("a1"), LoadBalancerAttributes: &types.LoadBalancerAttributes{
			CrossZoneLoadBalancing: &types.CrossZoneLoadBalancing{Enabled: true},
		}},
	)
	must(t, instance, err)
	health, err := c.DescribeInstanceHealth(ctx, &awselb.DescribeInstanceHealthInput{LoadBalancerName: aws.String("a1")})
	if states := must(t, health, err).InstanceStates; len(states) != 1 || *states[0].InstanceId != *instance.InstanceId {
		t.Errorf("health: %+v", states)
	}
	described, err := c.DescribeLoadBalancers(ctx, &awselb.DescribeLoadBalancersInput{})
	d := must(t, described, err).LoadBalancerDescriptions[0]
	if *d.VPCId != *vpcID || d.SecurityGroups[0] != groupID || *d.ListenerDescriptions[0].Listener.Protocol != "TCP" ||
		*d.HealthCheck.Target != "TCP:30080" ||
		*d.SourceSecurityGroup.GroupName != "k8s-elb-a1" ||
		len(d.Instances) != 1 {
		t.Errorf("described as %+v", d)
	}
	tags, err := c.DescribeTags(ctx, &awselb.DescribeTagsInput{LoadBalancerNames: []string{"a1"}})
	if got := must(t, tags, err).TagDescriptions[0].Tags; len(got) != 1 || *got[0].Value != "owned" {
		t.Errorf("tags: %+v", got)
	}
	others, err := awselbv2.NewFromConfig(config).DescribeLoadBalancers(ctx, &awselbv2.DescribeLoadBalancersInput{})
	if n := len(must(t, others, err).LoadBalancers); n != 0 {
		t.Errorf("the newer API shows %d", n)
	}

	_, err = machines.DeleteSecurityGroup(ctx, &awsec2.DeleteSecurityGroupInput{GroupId: &groupID})
	wiretest.WantCode(t, err, "DependencyViolation")
	for range 2 { // deleting a deleted load balancer succeeds
		_, err = c.DeleteLoadBalancer(ctx, &awselb.DeleteLoadBalancerInput{LoadBalancerName: aws.String("a1")})
		must(t, instance, err)
	}
	_, err = machines.DeleteSecurityGroup(ctx, &awsec2.DeleteSecurityGroupInput{GroupId: &groupID})
	must(t, instance, err)
	_, err = c.DescribeLoadBalancers(ctx, &awselb.DescribeLoadBalancersInput{LoadBalancerNames: []string{"a1"}})
	wiretest.WantCode(t, err, "LoadBalancerNotFound")
}

func must[T any](t *testing.T, out T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return out
}
