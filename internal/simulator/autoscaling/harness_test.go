package autoscaling_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsas "github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/autoscaling"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation"
	"github.com/aws-operator/aws-operator/internal/simulator/ec2"
	"github.com/aws-operator/aws-operator/internal/simulator/elbv2"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/iam"
	"github.com/aws-operator/aws-operator/internal/simulator/kms"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

const (
	account = "123456789012"
	region  = "eu-central-1"
)

// suite is Auto Scaling with EC2, load balancers and CloudFormation, and their clients, in an
// account with a VPC, three subnets and a launch template.
type suite struct {
	*awsas.Client

	t        *testing.T
	compute  *ec2.Service
	ec2      *awsec2.Client
	elb      *awselb.Client
	cfn      *awscfn.Client
	clock    *testclock.FakeClock // nil with the real clock
	vpcID    string
	subnets  []string // of zones a, b and c
	template string

	mu     sync.Mutex
	events []event
}

type event struct {
	detailType string
	resources  []string
	detail     map[string]any
}

func start(t *testing.T) *suite {
	t.Helper()
	return startWith(t, clock.RealClock{})
}

func startWith(t *testing.T, clk clock.WithTickerAndDelayedExecution) *suite {
	t.Helper()
	return startOn(t, clk, machine.Absent{})
}

// unreachable is a host whose machines refuse connections.
type unreachable struct{ machine.Absent }

// startOn starts a suite whose load balancers reach the machines of a host.
func startOn(t *testing.T, clk clock.WithTickerAndDelayedExecution, host machine.Host) *suite {
	t.Helper()
	w := &suite{t: t}
	w.clock, _ = clk.(*testclock.FakeClock)
	env := &resource.Env{Clock: clk}
	publish := func(_ context.Context, _, _, source, detailType string, resources []string, detail any) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if d, ok := detail.(map[string]any); ok && source == "aws.autoscaling" {
			w.events = append(w.events, event{detailType, resources, d})
		}
	}
	keys := &wire.Keys{}
	networks := vpc.New(env)
	w.compute = ec2.New(env, networks, ec2.Options{Profiles: iam.New(env, keys), Ciphers: kms.New(env), Keys: keys})
	balancers := elbv2.New(env, elbv2.Options{Compute: w.compute, Networks: networks, Host: host})
	groups := autoscaling.New(env, autoscaling.Options{
		Compute: w.compute, Balancers: balancers, Publish: publish,
		Zone: func(account, region, id string) (string, bool) {
			n, ok := networks.Subnet(account, region, id)
			return n.Zone, ok
		},
	})
	providers := groups.Providers()
	maps.Copy(providers, w.compute.Providers())
	engine := cloudformation.New(cloudformation.Options{Env: env, Providers: providers, Faults: fault.New()})
	t.Cleanup(func() { groups.Close(); balancers.Close(); w.compute.Close() })
	config := wiretest.Serve(t, wire.NewRouter([]*wire.Service{
		groups.Service(), w.compute.Service(), balancers.Service(), engine.Service(),
	}, nil, clk))
	w.Client, w.ec2, w.elb, w.cfn = awsas.NewFromConfig(config), awsec2.NewFromConfig(
		config,
	), awselb.NewFromConfig(config), awscfn.NewFromConfig(
		config,
	)
	w.createNetwork()
	return w
}

func must[T any](t *testing.T, out T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// createNetwork creates the VPC, the subnets and the launch template.
func (w *suite) createNetwork() {
	t, ctx := w.t, w.t.Context()
	t.Helper()
	made, err := w.ec2.CreateVpc(ctx, &awsec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	w.vpcID = *must(t, made, err).Vpc.VpcId
	for i, zone := range []string{"a", "b", "c"} {
		subnet, err := w.ec2.CreateSubnet(ctx, &awsec2.CreateSubnetInput{
			VpcId: &w.vpcID, CidrBlock: aws.String(fmt.Sprintf("10.0.%d.0/18", i*64)), AvailabilityZone: aws.String(region + zone),
		})
		w.subnets = append(w.subnets, *must(t, subnet, err).Subnet.SubnetId)
	}
	template, err := w.ec2.CreateLaunchTemplate(ctx, &awsec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("workers"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			ImageId: aws.String(w.image()), InstanceType: ec2types.InstanceTypeM6iLarge,
		},
	})
	w.template = *must(t, template, err).LaunchTemplate.LaunchTemplateId
}

func (w *suite) image() string {
	w.t.Helper()
	id, ok := w.compute.PublicParameter(region, "/aws/service/canonical/ubuntu/server/24.04/stable/20260610/amd64/hvm/ebs-gp3/ami-id")
	if !ok {
		w.t.Fatal("no image")
	}
	return id
}

// group returns the input for a group in all subnets.
func (w *suite) group(name string, least, most int32) *awsas.CreateAutoScalingGroupInput {
	return &awsas.CreateAutoScalingGroupInput{
		AutoScalingGroupName: &name, MinSize: &least, MaxSize: &most, VPCZoneIdentifier: aws.String(strings.Join(w.subnets, ",")),
		LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateId: &w.template, Version: aws.String("$Latest")},
	}
}

func (w *suite) create(in *awsas.CreateAutoScalingGroupInput) {
	w.t.Helper()
	if _, err := w.CreateAutoScalingGroup(w.t.Context(), in); err != nil {
		w.t.Fatal(err)
	}
}

func (w *suite) get(name string) types.AutoScalingGroup {
	w.t.Helper()
	out, err := w.DescribeAutoScalingGroups(w.t.Context(), &awsas.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(out.AutoScalingGroups) == 0 {
		return types.AutoScalingGroup{}
	}
	return out.AutoScalingGroups[0]
}

func (w *suite) activities(name string) []types.Activity {
	w.t.Helper()
	in := &awsas.DescribeScalingActivitiesInput{} // without a name, of all groups
	if name != "" {
		in.AutoScalingGroupName = &name
	}
	out, err := w.DescribeScalingActivities(w.t.Context(), in)
	return must(w.t, out, err).Activities
}

// inService returns the sorted IDs of the instances in service.
func (w *suite) inService(name string) []string { return w.in(name, types.LifecycleStateInService) }

func (w *suite) in(name string, state types.LifecycleState) []string {
	w.t.Helper()
	var ids []string
	for _, i := range w.get(name).Instances {
		if i.LifecycleState == state {
			ids = append(ids, *i.InstanceId)
		}
	}
	slices.Sort(ids)
	return ids
}

// until waits until exactly n instances are in service and no other instances exist.
func (w *suite) until(name string, n int) []string {
	w.t.Helper()
	w.eventually(fmt.Sprintf("group %s of %d", name, n), func() bool {
		return len(w.inService(name)) == n && len(w.get(name).Instances) == n
	})
	return w.inService(name)
}

// eventually waits until a condition holds.
func (w *suite) eventually(what string, holds func() bool) {
	w.t.Helper()
	patience.UntilTrue(w.t, what, holds)
}

func (w *suite) published(detailType string) (found []event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.detailType == detailType {
			found = append(found, e)
		}
	}
	return found
}

// targetGroup creates a load balancer with a listener and returns the ARN of its target group.
func (w *suite) targetGroup() string {
	t, ctx := w.t, w.t.Context()
	t.Helper()
	group, err := w.elb.CreateTargetGroup(ctx, &awselb.CreateTargetGroupInput{
		Name: aws.String("api"), Protocol: elbtypes.ProtocolEnumTcp, Port: aws.Int32(6443), VpcId: &w.vpcID,
		TargetType: elbtypes.TargetTypeEnumInstance,
	})
	arn := must(t, group, err).TargetGroups[0].TargetGroupArn
	balancer, err := w.elb.CreateLoadBalancer(ctx, &awselb.CreateLoadBalancerInput{
		Name: aws.String("api"), Type: elbtypes.LoadBalancerTypeEnumNetwork, Scheme: elbtypes.LoadBalancerSchemeEnumInternal,
		Subnets: w.subnets,
	})
	_, err = w.elb.CreateListener(ctx, &awselb.CreateListenerInput{
		LoadBalancerArn: must(t, balancer, err).LoadBalancers[0].LoadBalancerArn, Port: aws.Int32(6443), Protocol: elbtypes.ProtocolEnumTcp,
		DefaultActions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: arn}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return *arn
}

// targets returns the sorted healthy targets of a target group.
func (w *suite) targets(arn string) []string {
	w.t.Helper()
	out, err := w.elb.DescribeTargetHealth(w.t.Context(), &awselb.DescribeTargetHealthInput{TargetGroupArn: &arn})
	var ids []string
	for _, d := range must(w.t, out, err).TargetHealthDescriptions {
		if d.TargetHealth.State == elbtypes.TargetHealthStateEnumHealthy {
			ids = append(ids, *d.Target.Id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (w *suite) stack(name string) cfntypes.Stack {
	w.t.Helper()
	out, err := w.cfn.DescribeStacks(w.t.Context(), &awscfn.DescribeStacksInput{StackName: &name})
	return must(w.t, out, err).Stacks[0]
}

func (w *suite) reasons(name string) string {
	w.t.Helper()
	out, err := w.cfn.DescribeStackEvents(w.t.Context(), &awscfn.DescribeStackEventsInput{StackName: &name})
	var lines []string
	for _, e := range must(w.t, out, err).StackEvents {
		lines = append(lines, *e.LogicalResourceId+" "+string(e.ResourceStatus)+" "+aws.ToString(e.ResourceStatusReason))
	}
	return strings.Join(lines, "\n")
}
