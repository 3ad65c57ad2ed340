package autoscaling_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsas "github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	testclock "k8s.io/utils/clock/testing"
)

const groupStack = `
Parameters:
  Image: {Type: String}
  Type: {Type: String, Default: m6i.large}
  Min: {Type: String, Default: "2"}
  Max: {Type: String, Default: "3"}
  Subnets: {Type: CommaDelimitedList}
Resources:
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData: {ImageId: !Ref Image, InstanceType: !Ref Type}
  Group:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties:
      MinSize: !Ref Min
      MaxSize: !Ref Max
      VPCZoneIdentifier: !Ref Subnets
      LaunchTemplate: {LaunchTemplateId: !Ref Template, Version: !GetAtt Template.LatestVersionNumber}
      Tags: [{Key: role, Value: worker, PropagateAtLaunch: true}]
  Hook:
    Type: AWS::AutoScaling::LifecycleHook
    Properties:
      AutoScalingGroupName: !Ref Group
      LifecycleHookName: drain
      LifecycleTransition: autoscaling:EC2_INSTANCE_TERMINATING
      DefaultResult: CONTINUE
      HeartbeatTimeout: 60
Outputs:
  Group: {Value: !Ref Group}
`

func (w *suite) parameters(values map[string]string) []cfntypes.Parameter {
	list := []cfntypes.Parameter{{ParameterKey: aws.String("Subnets"), ParameterValue: aws.String(strings.Join(w.subnets, ","))}}
	if values["Image"] == "" {
		list = append(list, cfntypes.Parameter{ParameterKey: aws.String("Image"), ParameterValue: aws.String(w.image())})
	}
	for key, value := range values {
		list = append(list, cfntypes.Parameter{ParameterKey: aws.String(key), ParameterValue: aws.String(value)})
	}
	return list
}

func (w *suite) createStack(name string, values map[string]string) {
	w.t.Helper()
	_, err := w.cfn.CreateStack(w.t.Context(), &awscfn.CreateStackInput{
		StackName: &name, TemplateBody: aws.String(groupStack), Parameters: w.parameters(values),
		Tags: []cfntypes.Tag{{Key: aws.String("cluster"), Value: aws.String("demo")}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// settled waits until no operation of a stack is in progress and checks its status.
func (w *suite) settled(name string, want cfntypes.StackStatus) cfntypes.Stack {
	w.t.Helper()
	var s cfntypes.Stack
	w.eventually("stack "+name, func() bool {
		if w.clock != nil {
			w.clock.Step(100 * time.Millisecond)
		}
		s = w.stack(name)
		return !strings.HasSuffix(string(s.StackStatus), "IN_PROGRESS")
	})
	if s.StackStatus != want {
		w.t.Fatalf("stack %s is %s:\n%s", name, s.StackStatus, w.reasons(name))
	}
	return s
}

func TestGroupStack(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	w.createStack("workers", nil)
	s := w.settled("workers", cfntypes.StackStatusCreateComplete)
	group := *s.Outputs[0].OutputValue
	first := w.inService(group)
	if len(first) != 2 {
		t.Errorf("%d instances are in service when the stack is complete", len(first))
	}
	if i, _ := w.compute.Instance(account, region, first[0]); i.Tags["role"] != "worker" || i.Tags["cluster"] != "demo" ||
		i.Tags["aws:cloudformation:stack-name"] != "workers" {
		t.Errorf("an instance has the tags %v", i.Tags)
	}

	// A change of size or of the template version keeps the instances; the update waits for a
	// larger minimum.
	_, err := w.cfn.UpdateStack(ctx, &awscfn.UpdateStackInput{
		StackName: aws.String("workers"), UsePreviousTemplate: aws.Bool(true),
		Parameters: w.parameters(map[string]string{"Min": "3", "Max": "5", "Type": "m6i.xlarge"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.settled("workers", cfntypes.StackStatusUpdateComplete)
	g := w.get(group)
	if *g.MinSize != 3 || *g.MaxSize != 5 || *g.DesiredCapacity != 3 || *g.LaunchTemplate.Version != "2" {
		t.Errorf("the group is %+v", g)
	}
	now := w.inService(group)
	if len(now) != 3 || !slices.Contains(now, first[0]) || !slices.Contains(now, first[1]) {
		t.Errorf("instances %v became %v", first, now)
	}

	if _, err := w.cfn.DeleteStack(ctx, &awscfn.DeleteStackInput{StackName: s.StackId}); err != nil {
		t.Fatal(err)
	}
	w.settled(*s.StackId, cfntypes.StackStatusDeleteComplete)
	if w.get(group).AutoScalingGroupName != nil {
		t.Error("the group is left")
	}
	for _, id := range now {
		if i, ok := w.compute.Instance(account, region, id); ok && i.State != "terminated" {
			t.Errorf("%s is %s", id, i.State)
		}
	}
}

func TestInvalidGroupFailsItsStack(t *testing.T) {
	w := start(t)
	w.createStack("missing", map[string]string{"Image": "ami-0123456789abcdef0"})
	w.settled("missing", cfntypes.StackStatusRollbackComplete)
	if said := w.reasons("missing"); !strings.Contains(said, "You must use a valid fully-formed launch template. ") ||
		!strings.Contains(said, "ami-0123456789abcdef0") {
		t.Errorf("the events say\n%s", said)
	}
}

func TestGroupWithoutQuotaDoesNotStabilize(t *testing.T) {
	w := startWith(t, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	w.compute.SetQuota(account, region, false, 2)
	w.createStack("quota", nil)
	w.eventually("a failed attempt", func() bool {
		return slices.ContainsFunc(
			w.activities(""), func(a types.Activity) bool { return a.StatusCode == types.ScalingActivityStatusCodeFailed },
		)
	})
	w.settled("quota", cfntypes.StackStatusRollbackComplete)
	want := "Group did not stabilize. {current/minSize/maxSize group size = 1/2/3}. Failed Scaling Activity: "
	if said := w.reasons("quota"); !strings.Contains(said, want) || !strings.Contains(said, "HandlerErrorCode: NotStabilized") {
		t.Errorf("the events say\n%s", said)
	}
	out, err := w.DescribeAutoScalingGroups(t.Context(), &awsas.DescribeAutoScalingGroupsInput{})
	if err != nil || len(out.AutoScalingGroups) != 0 {
		t.Errorf("left: %+v %v", out, err)
	}
}

const heldStack = `
Parameters:
  Image: {Type: String}
  Subnets: {Type: CommaDelimitedList}
Resources:
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData: {ImageId: !Ref Image, InstanceType: m6i.large}
  Group:
    Type: AWS::AutoScaling::AutoScalingGroup
    Properties:
      MinSize: "1"
      MaxSize: "1"
      VPCZoneIdentifier: !Ref Subnets
      LaunchTemplate: {LaunchTemplateId: !Ref Template, Version: !GetAtt Template.LatestVersionNumber}
      LifecycleHookSpecificationList:
        - LifecycleHookName: boot
          LifecycleTransition: autoscaling:EC2_INSTANCE_LAUNCHING
          HeartbeatTimeout: 7200
`

func TestStackCanBeDeletedDuringGroupCreation(t *testing.T) {
	w := start(t)
	ctx := t.Context()
	made, err := w.cfn.CreateStack(ctx, &awscfn.CreateStackInput{
		StackName: aws.String("held"), TemplateBody: aws.String(heldStack), Parameters: w.parameters(nil),
	})
	id := *must(t, made, err).StackId
	waiting := func() []string {
		out, err := w.DescribeAutoScalingInstances(ctx, &awsas.DescribeAutoScalingInstancesInput{})
		var ids []string
		for _, i := range must(t, out, err).AutoScalingInstances {
			if *i.LifecycleState == string(types.LifecycleStatePendingWait) {
				ids = append(ids, *i.InstanceId)
			}
		}
		return ids
	}
	w.eventually("an instance that is held", func() bool { return len(waiting()) == 1 })
	instance := waiting()[0]
	if s := w.stack("held"); s.StackStatus != cfntypes.StackStatusCreateInProgress {
		t.Errorf("the stack is %s before its instance is in service", s.StackStatus)
	}
	if _, err := w.cfn.DeleteStack(ctx, &awscfn.DeleteStackInput{StackName: &id}); err != nil {
		t.Fatal(err)
	}
	w.settled(id, cfntypes.StackStatusDeleteComplete)
	if i, ok := w.compute.Instance(account, region, instance); ok && i.State != "terminated" {
		t.Errorf("the instance is %s", i.State)
	}
}
