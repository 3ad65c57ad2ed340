package autoscaling_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsas "github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/simulator/wire/wiretest"
)

func TestGroupSpreadsOverZones(t *testing.T) {
	w := start(t)
	in := w.group("g", 6, 9)
	in.Tags = []types.Tag{
		{Key: aws.String("role"), Value: aws.String("worker"), PropagateAtLaunch: aws.Bool(true)},
		{Key: aws.String("own"), Value: aws.String("x"), PropagateAtLaunch: aws.Bool(false)},
	}
	w.create(in)
	ids := w.until("g", 6)
	zones := map[string]int{}
	for _, i := range w.get("g").Instances {
		zones[*i.AvailabilityZone]++
		if *i.LaunchTemplate.Version != "1" || *i.InstanceType != "m6i.large" || *i.HealthStatus != "Healthy" {
			t.Errorf("an instance is shown as %+v", i)
		}
	}
	if zones[region+"a"] != 2 || zones[region+"b"] != 2 || zones[region+"c"] != 2 {
		t.Errorf("six instances are spread as %v", zones)
	}
	out, err := w.ec2.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: ids[:1]})
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]string{}
	for _, tag := range out.Reservations[0].Instances[0].Tags {
		tags[*tag.Key] = *tag.Value
	}
	if tags["role"] != "worker" || tags["aws:autoscaling:groupName"] != "g" || tags["own"] != "" {
		t.Errorf("an instance has the tags %v", tags)
	}
	a := w.activities("g")
	if len(a) != 6 || a[5].StatusCode != types.ScalingActivityStatusCodeSuccessful ||
		!strings.Contains(*a[5].Cause, "a user request created an AutoScalingGroup changing the desired capacity from 0 to 6.") ||
		!strings.Contains(
			*a[5].Cause, "increasing the capacity from 0 to 6.",
		) || !strings.HasPrefix(*a[5].Description, "Launching a new EC2 instance: i-") {
		t.Errorf("the first activity is %+v", a[len(a)-1])
	}
	if n := len(w.published("EC2 Instance Launch Successful")); n != 6 {
		t.Errorf("%d launches were reported", n)
	}
}

func TestCapacityFollowsDesiredCapacity(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	w.create(w.group("g", 1, 4))
	w.until("g", 1)
	if _, err := w.SetDesiredCapacity(ctx, &awsas.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("g"), DesiredCapacity: aws.Int32(4)}); err != nil {
		t.Fatal(err)
	}
	before := w.until("g", 4)
	if _, err := w.UpdateAutoScalingGroup(ctx, &awsas.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("g"), MaxSize: aws.Int32(3)}); err != nil {
		t.Fatal(err)
	}
	after := w.until("g", 3)
	for _, id := range after {
		if !slices.Contains(before, id) {
			t.Errorf("%s is new: shrinking replaced an instance", id)
		}
	}
	if _, err := w.SetInstanceProtection(ctx, &awsas.SetInstanceProtectionInput{
		AutoScalingGroupName: aws.String("g"), InstanceIds: after[:1], ProtectedFromScaleIn: aws.Bool(true),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.SetDesiredCapacity(ctx, &awsas.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("g"), DesiredCapacity: aws.Int32(1)}); err != nil {
		t.Fatal(err)
	}
	if last := w.until("g", 1); last[0] != after[0] {
		t.Errorf("%s is left, not the protected %s", last[0], after[0])
	}
	_, err := w.SetDesiredCapacity(
		ctx, &awsas.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("g"), DesiredCapacity: aws.Int32(5)},
	)
	wiretest.WantCode(t, err, "ValidationError")
	_, err = w.DeleteAutoScalingGroup(ctx, &awsas.DeleteAutoScalingGroupInput{AutoScalingGroupName: aws.String("g")})
	wiretest.WantCode(t, err, "ResourceInUse")
	if _, err := w.DeleteAutoScalingGroup(ctx, &awsas.DeleteAutoScalingGroupInput{AutoScalingGroupName: aws.String("g"), ForceDelete: aws.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	w.eventually("the group to go", func() bool { return w.get("g").AutoScalingGroupName == nil })
}

func TestLostInstancesAreReplaced(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	arn := w.targetGroup()
	in := w.group("g", 2, 2)
	in.TargetGroupARNs = []string{arn}
	w.create(in)
	ids := w.until("g", 2)
	w.eventually("both as targets", func() bool { return slices.Equal(w.targets(arn), ids) })

	if _, err := w.ec2.TerminateInstances(ctx, &awsec2.TerminateInstancesInput{InstanceIds: ids[:1]}); err != nil {
		t.Fatal(err)
	}
	w.eventually("a replacement", func() bool {
		now := w.inService("g")
		return len(now) == 2 && !slices.Contains(now, ids[0]) && slices.Equal(w.targets(arn), now)
	})
	var causes []string
	for _, a := range w.activities("g") {
		causes = append(causes, *a.Cause)
	}
	reported := strings.Join(causes, "\n")
	for _, want := range []string{
		"an instance was taken out of service in response to an EC2 health check indicating it has been terminated or stopped.",
		"an instance was launched in response to an unhealthy instance needing to be replaced.",
	} {
		if !strings.Contains(reported, want) {
			t.Errorf("no activity says %q:\n%s", want, reported)
		}
	}

	if _, err := w.SetInstanceHealth(ctx, &awsas.SetInstanceHealthInput{
		InstanceId: &ids[1], HealthStatus: aws.String("Unhealthy"),
	}); err != nil {
		t.Fatal(err)
	}
	w.eventually("another replacement", func() bool {
		now := w.inService("g")
		return len(now) == 2 && !slices.Contains(now, ids[1]) && len(w.get("g").Instances) == 2
	})
}

func TestTerminateInstanceInGroup(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	w.create(w.group("g", 1, 3))
	if _, err := w.SetDesiredCapacity(ctx, &awsas.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("g"), DesiredCapacity: aws.Int32(2)}); err != nil {
		t.Fatal(err)
	}
	ids := w.until("g", 2)
	out, err := w.TerminateInstanceInAutoScalingGroup(ctx, &awsas.TerminateInstanceInAutoScalingGroupInput{
		InstanceId: &ids[0], ShouldDecrementDesiredCapacity: aws.Bool(true),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(
		*out.Activity.Cause, "was taken out of service in response to a user request, shrinking the capacity from 2 to 1.",
	) {
		t.Errorf("the cause is %q", *out.Activity.Cause)
	}
	if left := w.until("g", 1); left[0] != ids[1] {
		t.Errorf("%s is left", left[0])
	}
	_, err = w.TerminateInstanceInAutoScalingGroup(ctx, &awsas.TerminateInstanceInAutoScalingGroupInput{
		InstanceId: &ids[1], ShouldDecrementDesiredCapacity: aws.Bool(true),
	})
	wiretest.WantCode(t, err, "ValidationError")
}

// Detached and standby instances keep running:
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/as-enter-exit-standby.html
func TestStandbyAndDetaching(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	arn := w.targetGroup()
	in := w.group("g", 0, 3)
	in.DesiredCapacity, in.TargetGroupARNs = aws.Int32(2), []string{arn}
	w.create(in)
	ids := w.until("g", 2)
	w.eventually("targets", func() bool { return len(w.targets(arn)) == 2 })
	if _, err := w.EnterStandby(ctx, &awsas.EnterStandbyInput{
		AutoScalingGroupName: aws.String("g"), InstanceIds: ids[:1], ShouldDecrementDesiredCapacity: aws.Bool(true),
	}); err != nil {
		t.Fatal(err)
	}
	w.eventually("standby", func() bool {
		return slices.Equal(w.in("g", types.LifecycleStateStandby), ids[:1]) && slices.Equal(w.targets(arn), ids[1:])
	})
	if _, err := w.ExitStandby(ctx, &awsas.ExitStandbyInput{AutoScalingGroupName: aws.String("g"), InstanceIds: ids[:1]}); err != nil {
		t.Fatal(err)
	}
	w.until("g", 2)
	w.eventually("targets again", func() bool { return len(w.targets(arn)) == 2 })
	if _, err := w.DetachInstances(ctx, &awsas.DetachInstancesInput{
		AutoScalingGroupName: aws.String("g"), InstanceIds: ids[:1], ShouldDecrementDesiredCapacity: aws.Bool(true),
	}); err != nil {
		t.Fatal(err)
	}
	w.until("g", 1)
	if i, ok := w.compute.Instance(account, region, ids[0]); !ok || i.State != ec2types.InstanceStateNameRunning {
		t.Errorf("the detached instance is %s", i.State)
	}
}

func TestFailedLaunchIsReportedAndRetried(t *testing.T) {
	w := startWith(t, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	w.compute.SetQuota(account, region, false, 2)
	w.create(w.group("g", 2, 2))
	w.eventually("a failure", func() bool {
		a := w.activities("g")
		return len(a) > 1 && a[0].StatusCode == types.ScalingActivityStatusCodeFailed
	})
	a := w.activities("g")[0]
	if !strings.Contains(*a.StatusMessage, "vCPU") || !strings.HasSuffix(*a.StatusMessage, "Launching EC2 instance failed.") ||
		!strings.HasPrefix(*a.Description, "Launching a new EC2 instance.  Status Reason: ") {
		t.Errorf("the activity says %q, %q", *a.StatusMessage, *a.Description)
	}
	if reported := w.published("EC2 Instance Launch Unsuccessful"); len(reported) == 0 ||
		reported[0].detail["StatusMessage"] != *a.StatusMessage {
		t.Errorf("events: %v", reported)
	}
	w.compute.SetQuota(account, region, false, 100)
	if len(w.inService("g")) == 2 {
		t.Error("it was retried at once")
	}
	w.eventually("the next attempt", func() bool { w.clock.Step(time.Second); return len(w.inService("g")) == 2 })
}

func TestLaunchFallsBackToOtherZoneOrType(t *testing.T) {
	w := start(t)
	w.compute.SetCapacity(region+"a", "m6i.large", false)
	in := w.group("g", 2, 2)
	in.VPCZoneIdentifier = aws.String(w.subnets[0] + "," + w.subnets[1])
	w.create(in)
	w.until("g", 2)
	for _, i := range w.get("g").Instances {
		if *i.AvailabilityZone != region+"b" {
			t.Errorf("an instance is in %s", *i.AvailabilityZone)
		}
	}
	mixed := w.group("m", 2, 2)
	mixed.VPCZoneIdentifier, mixed.LaunchTemplate = &w.subnets[0], nil
	mixed.MixedInstancesPolicy = &types.MixedInstancesPolicy{LaunchTemplate: &types.LaunchTemplate{
		LaunchTemplateSpecification: in.LaunchTemplate, Overrides: []types.LaunchTemplateOverrides{
			{InstanceType: aws.String("m6i.large")}, {InstanceType: aws.String("m6a.large")},
		},
	}}
	w.create(mixed)
	w.until("m", 2)
	for _, i := range w.get("m").Instances {
		if *i.InstanceType != "m6a.large" {
			t.Errorf("an instance is a %s", *i.InstanceType)
		}
	}
}

// The percentage applies to the capacity above the base:
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_InstancesDistribution.html
func TestSharesOfOnDemandAndSpot(t *testing.T) {
	w := start(t)
	in := w.group("g", 5, 5)
	in.MixedInstancesPolicy = &types.MixedInstancesPolicy{
		LaunchTemplate: &types.LaunchTemplate{LaunchTemplateSpecification: in.LaunchTemplate},
		InstancesDistribution: &types.InstancesDistribution{
			OnDemandBaseCapacity: aws.Int32(1), OnDemandPercentageAboveBaseCapacity: aws.Int32(25),
			SpotAllocationStrategy: aws.String("price-capacity-optimized"),
		},
	}
	in.LaunchTemplate = nil
	w.create(in)
	spot := 0
	for _, id := range w.until("g", 5) {
		if i, _ := w.compute.Instance(account, region, id); i.Spot {
			spot++
		}
	}
	if spot != 3 {
		t.Errorf("%d of 5 are spot, want 3: one is the base, one a quarter of four", spot)
	}
}

func TestDefaultPolicyTerminatesOldestVersion(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	in := w.group("g", 0, 4)
	in.DesiredCapacity, in.VPCZoneIdentifier = aws.Int32(2), &w.subnets[0]
	w.create(in)
	old := w.until("g", 2)
	if _, err := w.ec2.CreateLaunchTemplateVersion(ctx, &awsec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &w.template, SourceVersion: aws.String("1"),
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: ec2types.InstanceTypeM6iXlarge},
	}); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int32{4, 2} {
		if _, err := w.SetDesiredCapacity(ctx, &awsas.SetDesiredCapacityInput{
			AutoScalingGroupName: aws.String("g"), DesiredCapacity: &n,
		}); err != nil {
			t.Fatal(err)
		}
		w.until("g", int(n))
	}
	for _, i := range w.get("g").Instances {
		if slices.Contains(old, *i.InstanceId) || *i.LaunchTemplate.Version != "2" {
			t.Errorf("%s of version %s is left", *i.InstanceId, *i.LaunchTemplate.Version)
		}
	}
}

func TestSuspendedProcesses(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	w.create(w.group("g", 0, 2))
	processes := []string{"Launch"}
	if _, err := w.SuspendProcesses(ctx, &awsas.SuspendProcessesInput{AutoScalingGroupName: aws.String("g"), ScalingProcesses: processes}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.SetDesiredCapacity(ctx, &awsas.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("g"), DesiredCapacity: aws.Int32(2)}); err != nil {
		t.Fatal(err)
	}
	if g := w.get("g"); len(g.Instances) != 0 || len(g.SuspendedProcesses) != 1 || *g.SuspendedProcesses[0].ProcessName != "Launch" {
		t.Errorf("the group is %+v", g)
	}
	if _, err := w.ResumeProcesses(ctx, &awsas.ResumeProcessesInput{AutoScalingGroupName: aws.String("g"), ScalingProcesses: processes}); err != nil {
		t.Fatal(err)
	}
	w.until("g", 2)
}

func TestLoadBalancerHealthChecksCountAfterGracePeriod(t *testing.T) {
	w := startOn(t, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), unreachable{})
	arn := w.targetGroup()
	in := w.group("g", 1, 1)
	in.TargetGroupARNs, in.HealthCheckType, in.HealthCheckGracePeriod = []string{arn}, aws.String("ELB"), aws.Int32(300)
	w.create(in)
	id := w.until("g", 1)[0]
	state := func() elbtypes.TargetHealthStateEnum {
		out, err := w.elb.DescribeTargetHealth(t.Context(), &awselb.DescribeTargetHealthInput{
			TargetGroupArn: &arn, Targets: []elbtypes.TargetDescription{{Id: &id}},
		})
		return must(t, out, err).TargetHealthDescriptions[0].TargetHealth.State
	}
	began := w.clock.Now()
	w.eventually("an unhealthy target", func() bool {
		if w.clock.Since(began) < 2*time.Minute {
			w.clock.Step(time.Second)
		}
		return state() == elbtypes.TargetHealthStateEnumUnhealthy
	})
	if now := w.inService("g"); len(now) != 1 || now[0] != id {
		t.Fatalf("within the grace period %s became %v", id, now)
	}
	w.clock.Step(5 * time.Minute)
	w.eventually("a replacement", func() bool {
		now := w.inService("g")
		return len(now) == 1 && now[0] != id
	})
	reported := slices.ContainsFunc(w.activities("g"), func(a types.Activity) bool {
		return strings.HasSuffix(*a.Cause, "an instance was taken out of service in response to an ELB system health check failure.")
	})
	if !reported {
		t.Errorf("activities: %+v", w.activities("g"))
	}
}

func TestInvalidGroupsAreRefused(t *testing.T) {
	w := start(t)
	for reason, tt := range map[string]struct {
		change  func(*awsas.CreateAutoScalingGroupInput)
		message string
	}{
		"the minimum is above the maximum": {
			func(in *awsas.CreateAutoScalingGroupInput) { in.MinSize = aws.Int32(9) },
			"Max bound, 2, must be greater than or equal to min bound, 9",
		},
		"the desired capacity is out of bounds": {
			func(in *awsas.CreateAutoScalingGroupInput) { in.DesiredCapacity = aws.Int32(7) },
			"Desired capacity:7 must be between the specified min size:1 and max size:2",
		},
		"there is no subnet": {
			func(in *awsas.CreateAutoScalingGroupInput) { in.VPCZoneIdentifier = nil },
			"At least one Availability Zone or VPC Subnet is required.",
		},
		"the subnet does not exist": {
			func(in *awsas.CreateAutoScalingGroupInput) { in.VPCZoneIdentifier = aws.String("subnet-0") },
			"The subnet ID 'subnet-0' does not exist",
		},
		"nothing says what to launch": {
			func(in *awsas.CreateAutoScalingGroupInput) { in.LaunchTemplate = nil }, "Valid requests must contain either LaunchTemplate",
		},
		"the launch template does not exist": {
			func(in *awsas.CreateAutoScalingGroupInput) {
				in.LaunchTemplate.LaunchTemplateId = aws.String("lt-0123456789abcdef0")
			},
			"You must use a valid fully-formed launch template.",
		},
		"the version does not exist": {
			func(in *awsas.CreateAutoScalingGroupInput) { in.LaunchTemplate.Version = aws.String("7") },
			"You must use a valid fully-formed launch template.",
		},
		"an instance type is weighted, which is not supported": {
			func(in *awsas.CreateAutoScalingGroupInput) {
				in.MixedInstancesPolicy = &types.MixedInstancesPolicy{LaunchTemplate: &types.LaunchTemplate{
					LaunchTemplateSpecification: in.LaunchTemplate,
					Overrides: []types.LaunchTemplateOverrides{
						{InstanceType: aws.String("m6i.large"), WeightedCapacity: aws.String("2")},
					},
				}}
			}, "does not support weighted capacity",
		},
		"the target group does not exist": {
			func(in *awsas.CreateAutoScalingGroupInput) {
				in.TargetGroupARNs = []string{"arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/x/0123456789abcdef"}
			}, "Provided Target Groups may not be valid. Please ensure they exist and try again.",
		},
		"a termination policy is unknown": {
			func(in *awsas.CreateAutoScalingGroupInput) { in.TerminationPolicies = []string{"Random"} },
			"Invalid termination policy: Random",
		},
	} {
		t.Run(reason, func(t *testing.T) {
			in := w.group("refused", 1, 2)
			tt.change(in)
			_, err := w.CreateAutoScalingGroup(t.Context(), in)
			wiretest.WantCode(t, err, "ValidationError")
			if e, ok := errors.AsType[smithy.APIError](err); ok && !strings.Contains(e.ErrorMessage(), tt.message) {
				t.Errorf("the message is %q, want %q", e.ErrorMessage(), tt.message)
			}
		})
	}
	w.create(w.group("g", 0, 0))
	_, err := w.CreateAutoScalingGroup(t.Context(), w.group("g", 0, 0))
	wiretest.WantCode(t, err, "AlreadyExists")
}

func TestPagesAndTags(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	for _, name := range []string{"a", "b", "c"} {
		in := w.group(name, 0, 0)
		in.Tags = []types.Tag{{Key: aws.String("cluster"), Value: aws.String(name)}}
		w.create(in)
	}
	pages := awsas.NewDescribeAutoScalingGroupsPaginator(w.Client, &awsas.DescribeAutoScalingGroupsInput{MaxRecords: aws.Int32(2)})
	var names []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range page.AutoScalingGroups {
			names = append(names, *g.AutoScalingGroupName)
		}
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("the pages have %v", names)
	}
	out, err := w.DescribeAutoScalingGroups(ctx, &awsas.DescribeAutoScalingGroupsInput{
		Filters: []types.Filter{{Name: aws.String("tag:cluster"), Values: []string{"b"}}},
	})
	if err != nil || len(out.AutoScalingGroups) != 1 || *out.AutoScalingGroups[0].Tags[0].ResourceId != "b" {
		t.Errorf("by tag: %+v %v", out, err)
	}
	tag := types.Tag{
		Key:               aws.String("k"),
		Value:             aws.String("v"),
		ResourceId:        aws.String("a"),
		ResourceType:      aws.String("auto-scaling-group"),
		PropagateAtLaunch: aws.Bool(true),
	}
	if _, err := w.CreateOrUpdateTags(ctx, &awsas.CreateOrUpdateTagsInput{Tags: []types.Tag{tag}}); err != nil {
		t.Fatal(err)
	}
	tags, err := w.DescribeTags(
		ctx, &awsas.DescribeTagsInput{Filters: []types.Filter{{Name: aws.String("auto-scaling-group"), Values: []string{"a"}}}},
	)
	if err != nil || len(tags.Tags) != 2 {
		t.Errorf("tags: %+v %v", tags, err)
	}
	if _, err := w.DeleteTags(ctx, &awsas.DeleteTagsInput{Tags: []types.Tag{tag}}); err != nil {
		t.Fatal(err)
	}
	if n := len(w.get("a").Tags); n != 1 {
		t.Errorf("%d tags are left", n)
	}
}
