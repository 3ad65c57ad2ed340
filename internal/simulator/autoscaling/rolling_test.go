package autoscaling_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	testclock "k8s.io/utils/clock/testing"
)

// rollingStack is a stack of a group that CloudFormation rolls.
const rollingStack = `
Parameters:
  Image: {Type: String}
  Type: {Type: String, Default: m6i.large}
  Min: {Type: String, Default: "3"}
  Max: {Type: String, Default: "5"}
  Batch: {Type: Number, Default: 1}
  InService: {Type: Number, Default: 3}
  Percent: {Type: Number, Default: 100}
  Pause: {Type: String, Default: PT15M}
  Subnets: {Type: CommaDelimitedList}
Resources:
  Template:
    Type: AWS::EC2::LaunchTemplate
    Properties:
      LaunchTemplateData: {ImageId: !Ref Image, InstanceType: !Ref Type}
  Group:
    Type: AWS::AutoScaling::AutoScalingGroup
    UpdatePolicy:
      AutoScalingRollingUpdate:
        MaxBatchSize: !Ref Batch
        MinInstancesInService: !Ref InService
        MinSuccessfulInstancesPercent: !Ref Percent
        PauseTime: !Ref Pause
        WaitOnResourceSignals: true
        SuspendProcesses: [HealthCheck, ReplaceUnhealthy, AZRebalance, AlarmNotification, ScheduledActions]
      AutoScalingScheduledAction: {IgnoreUnmodifiedGroupSizeProperties: true}
    Properties:
      AutoScalingGroupName: workers
      MinSize: !Ref Min
      MaxSize: !Ref Max
      VPCZoneIdentifier: !Ref Subnets
      LaunchTemplate: {LaunchTemplateId: !Ref Template, Version: !GetAtt Template.LatestVersionNumber}
`

// startRolling starts a world with a clock that stands still and a stack of the
// template, and returns the instances of the group.
func startRolling(t *testing.T, body string, values map[string]string) (*world, []string) {
	t.Helper()
	w := startWith(t, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	_, err := w.cfn.CreateStack(t.Context(), &awscfn.CreateStackInput{
		StackName: aws.String("rolling"), TemplateBody: &body, Parameters: w.parameters(values),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.settled("rolling", cfntypes.StackStatusCreateComplete)
	return w, w.inService("workers")
}

// update changes parameters of the stack.
func (w *world) update(body string, values map[string]string) {
	w.t.Helper()
	_, err := w.cfn.UpdateStack(w.t.Context(), &awscfn.UpdateStackInput{
		StackName: aws.String("rolling"), TemplateBody: &body, Parameters: w.parameters(values),
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// signal tells CloudFormation that an instance is ready, or is not.
func (w *world) signal(id string, status cfntypes.ResourceSignalStatus) error {
	_, err := w.cfn.SignalResource(w.t.Context(), &awscfn.SignalResourceInput{
		StackName: aws.String("rolling"), LogicalResourceId: aws.String("Group"), UniqueId: &id, Status: status,
	})
	return err
}

// said returns the texts of the group's events since the last update began, oldest
// first.
func (w *world) said() []string {
	w.t.Helper()
	var lines []string
	p := awscfn.NewDescribeStackEventsPaginator(w.cfn, &awscfn.DescribeStackEventsInput{StackName: aws.String("rolling")})
	for p.HasMorePages() {
		out, err := p.NextPage(w.t.Context())
		for _, e := range must(w.t, out, err).StackEvents {
			switch {
			case *e.LogicalResourceId == "rolling" && e.ResourceStatus == cfntypes.ResourceStatusUpdateInProgress:
				slices.Reverse(lines)
				return lines
			case *e.LogicalResourceId == "Group" && e.ResourceStatusReason != nil:
				lines = append(lines, *e.ResourceStatusReason)
			}
		}
	}
	return lines
}

// waitsFor waits until the group's events say something as often as given.
func (w *world) waitsFor(text string, times int) {
	w.t.Helper()
	w.eventually(text+"\n"+strings.Join(w.said(), "\n"), func() bool {
		n := 0
		for _, line := range w.said() {
			if strings.Contains(line, text) {
				n++
			}
		}
		return n >= times
	})
}

// others are the instances in service that are not among others.
func (w *world) others(old []string) []string {
	return slices.DeleteFunc(w.inService("workers"), func(id string) bool { return slices.Contains(old, id) })
}

func TestARollReplacesOneInstanceAfterAnotherAndWaitsForSignals(t *testing.T) {
	w, old := startRolling(t, rollingStack, nil)
	w.update(rollingStack, map[string]string{"Type": "m6i.xlarge"})
	known := slices.Clone(old)
	for n := range 3 {
		w.waitsFor("Waiting on 1 resource signal(s) with a timeout of PT15M.", n+1)
		fresh := w.others(known)
		if len(fresh) != 1 {
			t.Fatalf("new in batch %d: %v\n%s", n, fresh, strings.Join(w.said(), "\n"))
		}
		if got := len(w.inService("workers")); got < 3 {
			t.Errorf("%d instances are in service", got)
		}
		if err := w.signal(fresh[0], cfntypes.ResourceSignalStatusSuccess); err != nil {
			t.Fatal(err)
		}
		known = append(known, fresh[0])
	}
	w.settled("rolling", cfntypes.StackStatusUpdateComplete)
	w.until("workers", 3)
	fresh := known[3:]
	want := []string{
		"Rolling update initiated. Terminating 3 obsolete instance(s) in batches of 1, while keeping at least 3 instance(s) in service. " +
			"Waiting on resource signals with a timeout of PT15M when new instances are added to the autoscaling group.",
		"Temporarily setting autoscaling group MinSize and DesiredCapacity to 4.",
		"New instance(s) added to autoscaling group - Waiting on 1 resource signal(s) with a timeout of PT15M.",
		"Received SUCCESS signal with UniqueId " + fresh[0],
		"Terminating instance(s) [*]; replacing with 1 new instance(s).",
		"Successfully terminated instance(s) [*] (Progress 33%).",
		"New instance(s) added to autoscaling group - Waiting on 1 resource signal(s) with a timeout of PT15M.",
		"Received SUCCESS signal with UniqueId " + fresh[1],
		"Terminating instance(s) [*]; replacing with 1 new instance(s).",
		"Successfully terminated instance(s) [*] (Progress 67%).",
		"New instance(s) added to autoscaling group - Waiting on 1 resource signal(s) with a timeout of PT15M.",
		"Received SUCCESS signal with UniqueId " + fresh[2],
		"Terminating instance(s) [*]; replacing with 0 new instance(s).",
		"Successfully terminated instance(s) [*] (Progress 100%).",
	}
	said := w.said()
	for i := range said {
		for _, id := range old {
			said[i] = strings.ReplaceAll(said[i], "["+id+"]", "[*]")
		}
	}
	if !slices.Equal(said, want) {
		t.Errorf("the events are\n%s\nand not\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	g := w.get("workers")
	if *g.MinSize != 3 || *g.DesiredCapacity != 3 || len(g.SuspendedProcesses) != 0 || *g.Instances[0].LaunchTemplate.Version != "2" {
		t.Errorf("the group is %+v", g)
	}
}
