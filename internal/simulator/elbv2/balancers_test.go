package elbv2_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/elbv2"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

func TestLoadBalancerBlocksDeletionOfItsResources(t *testing.T) {
	w := start(t, false)
	ctx := t.Context()
	b := w.balancer("api")
	if !strings.HasPrefix(*b.DNSName, "api-") || !strings.HasSuffix(*b.DNSName, ".elb.eu-central-1.amazonaws.com") ||
		len(b.AvailabilityZones) != 3 {
		t.Errorf("the load balancer is %+v", b)
	}
	if cards := w.interfaces(); len(cards) != 3 || !strings.HasPrefix(cards[0], "ELB net/api/") ||
		!strings.HasSuffix(cards[0], "network_load_balancer") {
		t.Errorf("its interfaces are %v", cards)
	}
	_, err := w.ec2.DeleteSubnet(ctx, &awsec2.DeleteSubnetInput{SubnetId: &w.subnets[0]})
	wiretest.WantCode(t, err, "DependencyViolation")

	out, err := w.DescribeLoadBalancers(ctx, &awselb.DescribeLoadBalancersInput{Names: []string{"api"}})
	if err != nil || out.LoadBalancers[0].State.Code != types.LoadBalancerStateEnumActive {
		t.Errorf("described as %+v, %v", out, err)
	}
	if again := w.balancer("api"); *again.LoadBalancerArn != *b.LoadBalancerArn {
		t.Error("the same request made another load balancer")
	}
	group := w.targetGroup("api", nil)
	listener := w.listener(*b.LoadBalancerArn, group, 6443)
	_, err = w.DeleteTargetGroup(ctx, &awselb.DeleteTargetGroupInput{TargetGroupArn: &group})
	wiretest.WantCode(t, err, "ResourceInUse")

	tags, err := w.DescribeTags(ctx, &awselb.DescribeTagsInput{ResourceArns: []string{*b.LoadBalancerArn, group, listener}})
	if err != nil || len(tags.TagDescriptions) != 3 || *tags.TagDescriptions[0].Tags[0].Value != "demo" {
		t.Errorf("tags: %+v %v", tags, err)
	}
	protect := func(value string) {
		_, err := w.ModifyLoadBalancerAttributes(ctx, &awselb.ModifyLoadBalancerAttributesInput{
			LoadBalancerArn: b.LoadBalancerArn,
			Attributes:      []types.LoadBalancerAttribute{{Key: aws.String("deletion_protection.enabled"), Value: &value}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	protect("true")
	_, err = w.DeleteLoadBalancer(ctx, &awselb.DeleteLoadBalancerInput{LoadBalancerArn: b.LoadBalancerArn})
	wiretest.WantCode(t, err, "OperationNotPermitted")
	protect("false")
	if _, err := w.DeleteLoadBalancer(ctx, &awselb.DeleteLoadBalancerInput{LoadBalancerArn: b.LoadBalancerArn}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.DeleteTargetGroup(ctx, &awselb.DeleteTargetGroupInput{TargetGroupArn: &group}); err != nil {
		t.Errorf("the target group of a deleted load balancer: %v", err)
	}
	if cards := w.interfaces(); len(cards) != 0 {
		t.Errorf("interfaces are left: %v", cards)
	}
	_, err = w.DescribeLoadBalancers(ctx, &awselb.DescribeLoadBalancersInput{Names: []string{"api"}})
	wiretest.WantCode(t, err, "LoadBalancerNotFound")
	if _, err := w.ec2.DeleteSubnet(ctx, &awsec2.DeleteSubnetInput{SubnetId: &w.subnets[0]}); err != nil {
		t.Error(err)
	}
}

func TestLoadBalancerSubnetsAndSecurityGroups(t *testing.T) {
	w := start(t, false)
	ctx := t.Context()
	group, err := w.ec2.CreateSecurityGroup(
		ctx, &awsec2.CreateSecurityGroupInput{GroupName: aws.String("lb"), Description: aws.String("lb"), VpcId: &w.vpcID},
	)
	id := *must(t, group, err).GroupId
	made, err := w.CreateLoadBalancer(ctx, &awselb.CreateLoadBalancerInput{
		Name: aws.String("api"), Type: types.LoadBalancerTypeEnumNetwork, Scheme: types.LoadBalancerSchemeEnumInternal,
		Subnets: w.subnets[:1], SecurityGroups: []string{id},
	})
	arn := must(t, made, err).LoadBalancers[0].LoadBalancerArn
	_, err = w.ec2.DeleteSecurityGroup(ctx, &awsec2.DeleteSecurityGroupInput{GroupId: &id})
	wiretest.WantCode(t, err, "DependencyViolation")
	if _, err := w.SetSubnets(ctx, &awselb.SetSubnetsInput{LoadBalancerArn: arn, Subnets: w.subnets[1:]}); err != nil {
		t.Fatal(err)
	}
	if cards := w.interfaces(); len(cards) != 2 {
		t.Errorf("interfaces: %v", cards)
	}
	_, err = w.SetSecurityGroups(
		ctx, &awselb.SetSecurityGroupsInput{LoadBalancerArn: arn, SecurityGroups: []string{"sg-0123456789abcdef0"}},
	)
	wiretest.WantCode(t, err, "InvalidSecurityGroup")
}

func TestLoadBalancerQuota(t *testing.T) {
	w := startWith(t, elbv2.Options{Quotas: map[vpc.Quota]int{elbv2.LoadBalancers: 1}})
	w.balancer("one")
	_, err := w.CreateLoadBalancer(t.Context(), &awselb.CreateLoadBalancerInput{
		Name: aws.String("two"), Type: types.LoadBalancerTypeEnumNetwork, Scheme: types.LoadBalancerSchemeEnumInternal, Subnets: w.subnets,
	})
	wiretest.WantCode(t, err, "TooManyLoadBalancers")
	limits, err := w.DescribeAccountLimits(t.Context(), &awselb.DescribeAccountLimitsInput{})
	if l := must(t, limits, err).Limits[0]; *l.Max != "1" {
		t.Errorf("the limit is %s", *l.Max)
	}
}

func TestInvalidLoadBalancersAndTargetGroupsAreRefused(t *testing.T) {
	w := start(t, false)
	ctx := t.Context()
	b := w.balancer("taken")
	group := w.targetGroup("taken", nil)
	w.listener(*b.LoadBalancerArn, group, 80)
	create := func(change func(*awselb.CreateLoadBalancerInput)) error {
		in := &awselb.CreateLoadBalancerInput{
			Name: aws.String("new"), Type: types.LoadBalancerTypeEnumNetwork, Scheme: types.LoadBalancerSchemeEnumInternal,
			Subnets: w.subnets,
		}
		change(in)
		_, err := w.CreateLoadBalancer(ctx, in)
		return err
	}
	newGroup := func(change func(*awselb.CreateTargetGroupInput)) error {
		in := &awselb.CreateTargetGroupInput{Name: aws.String("new"), Protocol: types.ProtocolEnumTcp, Port: aws.Int32(80), VpcId: &w.vpcID}
		change(in)
		_, err := w.CreateTargetGroup(ctx, in)
		return err
	}
	for reason, tt := range map[string]struct {
		err  error
		code string
	}{
		"the name is taken by another kind": {create(func(in *awselb.CreateLoadBalancerInput) {
			in.Name, in.Type = aws.String("taken"), types.LoadBalancerTypeEnumApplication
		}), "DuplicateLoadBalancerName"},
		"the name is too long":      {create(func(in *awselb.CreateLoadBalancerInput) { in.Name = aws.String(strings.Repeat("x", 33)) }), "ValidationError"},
		"the name ends in a hyphen": {create(func(in *awselb.CreateLoadBalancerInput) { in.Name = aws.String("x-") }), "ValidationError"},
		"a subnet does not exist":   {create(func(in *awselb.CreateLoadBalancerInput) { in.Subnets = []string{"subnet-0"} }), "SubnetNotFound"},
		"a zone is given twice": {create(func(in *awselb.CreateLoadBalancerInput) {
			in.Subnets = []string{w.subnets[0], w.subnets[0]}
		}), "InvalidConfigurationRequest"},
		"it faces an internet that the VPC has no gateway to": {create(func(in *awselb.CreateLoadBalancerInput) {
			in.Scheme = types.LoadBalancerSchemeEnumInternetFacing
		}), "InvalidSubnet"},
		"an attribute is unknown": {func() error {
			_, err := w.ModifyLoadBalancerAttributes(ctx, &awselb.ModifyLoadBalancerAttributesInput{
				LoadBalancerArn: b.LoadBalancerArn,
				Attributes:      []types.LoadBalancerAttribute{{Key: aws.String("x"), Value: aws.String("y")}},
			})
			return err
		}(), "ValidationError"},
		"a target group's VPC does not exist": {newGroup(func(in *awselb.CreateTargetGroupInput) { in.VpcId = aws.String("vpc-0") }), "ValidationError"},
		"a target group's name is taken by other settings": {newGroup(func(in *awselb.CreateTargetGroupInput) {
			in.Name, in.Port = aws.String("taken"), aws.Int32(1)
		}), "DuplicateTargetGroupName"},
		"UDP is not supported": {newGroup(func(in *awselb.CreateTargetGroupInput) { in.Protocol = types.ProtocolEnumUdp }), "UnsupportedFeature"},
		"a TCP health check has no path": {newGroup(func(in *awselb.CreateTargetGroupInput) {
			in.HealthCheckPath = aws.String("/healthz")
		}), "InvalidConfigurationRequest"},
		"the port has a listener": {func() error {
			_, err := w.CreateListener(ctx, &awselb.CreateListenerInput{
				LoadBalancerArn: b.LoadBalancerArn, Port: aws.Int32(80), Protocol: types.ProtocolEnumTcp,
				DefaultActions: []types.Action{{Type: types.ActionTypeEnumForward, TargetGroupArn: &group}},
			})
			return err
		}(), "DuplicateListener"},
		"TLS is not supported": {func() error {
			_, err := w.CreateListener(ctx, &awselb.CreateListenerInput{
				LoadBalancerArn: b.LoadBalancerArn, Port: aws.Int32(443), Protocol: types.ProtocolEnumTls,
				DefaultActions: []types.Action{{Type: types.ActionTypeEnumForward, TargetGroupArn: &group}},
			})
			return err
		}(), "UnsupportedFeature"},
		"a target does not exist": {func() error {
			_, err := w.RegisterTargets(ctx, &awselb.RegisterTargetsInput{
				TargetGroupArn: &group, Targets: []types.TargetDescription{{Id: aws.String("i-0123456789abcdef0")}},
			})
			return err
		}(), "InvalidTarget"},
		"an operation is not there": {func() error {
			_, err := w.CreateRule(ctx, &awselb.CreateRuleInput{
				ListenerArn: &group, Priority: aws.Int32(1), Conditions: []types.RuleCondition{}, Actions: []types.Action{},
			})
			return err
		}(), "InvalidAction"},
	} {
		t.Run(reason, func(t *testing.T) { wiretest.WantCode(t, tt.err, tt.code) })
	}
}

func TestHealthWithoutMachines(t *testing.T) {
	w := start(t, false)
	ctx := t.Context()
	b := w.balancer("api")
	group := w.targetGroup("api", nil)
	id := w.launch(0)
	if h := w.health(group, id); h != "unused Target.NotRegistered" {
		t.Errorf("before it is registered it is %s", h)
	}
	w.register(group, id)
	w.becomes(group, id, "unused Target.NotInUse")
	w.listener(*b.LoadBalancerArn, group, 6443)
	w.becomes(group, id, "healthy")
	if _, err := w.ec2.StopInstances(ctx, &awsec2.StopInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	w.becomes(group, id, "unused Target.InvalidState")
	if _, err := w.ec2.StartInstances(ctx, &awsec2.StartInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	w.becomes(group, id, "healthy")
	if _, err := w.ec2.TerminateInstances(ctx, &awsec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	w.becomes(group, id, "unused Target.NotRegistered")
}

func TestListingByLoadBalancerAndPage(t *testing.T) {
	w := start(t, false)
	ctx := t.Context()
	b := w.balancer("one")
	for i, name := range []string{"a", "b", "c"} {
		group := w.targetGroup(name, nil)
		if name != "c" {
			w.listener(*b.LoadBalancerArn, group, int32(80+i))
		}
	}
	pages := awselb.NewDescribeTargetGroupsPaginator(
		w.Client, &awselb.DescribeTargetGroupsInput{LoadBalancerArn: b.LoadBalancerArn, PageSize: aws.Int32(1)},
	)
	var names []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		for _, g := range must(t, page, err).TargetGroups {
			names = append(names, *g.TargetGroupName)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("the load balancer's groups are %v", names)
	}
	listeners, err := w.DescribeListeners(ctx, &awselb.DescribeListenersInput{LoadBalancerArn: b.LoadBalancerArn})
	if len(must(t, listeners, err).Listeners) != 2 {
		t.Errorf("listeners: %+v", listeners)
	}
	_, err = w.DescribeListeners(ctx, &awselb.DescribeListenersInput{ListenerArns: []string{"arn:aws:elasticloadbalancing:x"}})
	if e, ok := errors.AsType[smithy.APIError](err); !ok || e.ErrorCode() != "ListenerNotFound" {
		t.Errorf("got %v", err)
	}
}

// AWS requires an attached internet gateway, not a route to it.
func TestInternetFacingLoadBalancerRequiresInternetGateway(t *testing.T) {
	w := start(t, false)
	create := func() error {
		_, err := w.CreateLoadBalancer(t.Context(), &awselb.CreateLoadBalancerInput{
			Name: aws.String("web"), Type: types.LoadBalancerTypeEnumApplication, Scheme: types.LoadBalancerSchemeEnumInternetFacing,
			Subnets: w.subnets,
		})
		return err
	}
	wiretest.WantCode(t, create(), "InvalidSubnet")
	gateway, err := w.ec2.CreateInternetGateway(t.Context(), &awsec2.CreateInternetGatewayInput{})
	_, err = w.ec2.AttachInternetGateway(t.Context(), &awsec2.AttachInternetGatewayInput{
		InternetGatewayId: must(t, gateway, err).InternetGateway.InternetGatewayId, VpcId: &w.vpcID,
	})
	if err = errors.Join(err, create()); err != nil {
		t.Error(err)
	}
}

// The name of a load balancer does not resolve before it is active.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/network-load-balancers.html#load-balancer-state
func TestNamesResolveWhenTheLoadBalancerIsActive(t *testing.T) {
	clock := testclock.NewFakeClock(time.Now())
	w := startAt(t, clock, elbv2.Options{Host: newHost(), Provisioning: time.Minute})
	b := w.balancer("api")
	state := func() types.LoadBalancerStateEnum {
		out, err := w.DescribeLoadBalancers(t.Context(), &awselb.DescribeLoadBalancersInput{Names: []string{"api"}})
		return must(t, out, err).LoadBalancers[0].State.Code
	}
	if found := w.balancers.Resolve(*b.VpcId, *b.DNSName); len(found) > 0 || state() != types.LoadBalancerStateEnumProvisioning {
		t.Errorf("a new load balancer is %s and its name %v", state(), found)
	}
	clock.Step(time.Minute)
	if found := w.balancers.Resolve(*b.VpcId, *b.DNSName); len(found) != 3 || state() != types.LoadBalancerStateEnumActive {
		t.Errorf("after a minute, it is %s and its name %v", state(), found)
	}
}
