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

// rollingStack is a stack of a group with a rolling update policy.
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

// startRolling starts a suite with a fake clock and a stack of the template, and returns the
// instances of the group.
func startRolling(t *testing.T, body string, values map[string]string) (*suite, []string) {
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
func (w *suite) update(body string, values map[string]string) {
	w.t.Helper()
	_, err := w.cfn.UpdateStack(w.t.Context(), &awscfn.UpdateStackInput{
		StackName: aws.String("rolling"), TemplateBody: &body, Parameters: w.parameters(values),
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// signal signals success or failure of an instance to CloudFormation.
func (w *suite) signal(id string, status cfntypes.ResourceSignalStatus) error {
	_, err := w.cfn.SignalResource(w.t.Context(), &awscfn.SignalResourceInput{
		StackName: aws.String("rolling"), LogicalResourceId: aws.String("Group"), UniqueId: &id, Status: status,
	})
	return err
}

// said returns the messages of the group's events since the last update started, oldest first.
func (w *suite) said() []string {
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

// waitsFor waits until the group's events contain a message the given number of times.
func (w *suite) waitsFor(text string, times int) {
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

// others returns the instances in service of a group except the given ones.
func (w *suite) others(group string, but ...string) []string {
	w.t.Helper()
	return slices.DeleteFunc(w.inService(group), func(id string) bool { return slices.Contains(but, id) })
}

func TestRollReplacesInstancesOneByOneAndWaitsForSignals(t *testing.T) {
	w, old := startRolling(t, rollingStack, nil)
	w.update(rollingStack, map[string]string{"Type": "m6i.xlarge"})
	known := slices.Clone(old)
	for n := range 3 {
		w.waitsFor("Waiting on 1 resource signal(s) with a timeout of PT15M.", n+1)
		fresh := w.others("workers", known...)
		if len(fresh) != 1 {
			t.Fatalf("new in batch %d: %v\n%s", n, fresh, strings.Join(w.said(), "\n"))
		}
		if got := len(w.inService("workers")); got < 3 {
			t.Errorf("%d instances are in service", got)
		}
		// Signals of unknown instances, and repeated signals, are ignored.
		for _, id := range append(slices.Clone(known), fresh...) {
			status := cfntypes.ResourceSignalStatusSuccess
			if id != fresh[0] {
				status = cfntypes.ResourceSignalStatusFailure
			}
			if err := w.signal(id, status); err != nil {
				t.Fatal(err)
			}
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

// answer signals for every new instance of the group until the stack's operation ends, and checks
// its status.
func (w *suite) answer(known []string, status cfntypes.ResourceSignalStatus, want cfntypes.StackStatus) {
	w.t.Helper()
	w.eventually("the end of the roll", func() bool {
		for _, id := range w.others("workers", known...) {
			if w.signal(id, status) == nil {
				known = append(known, id)
			}
		}
		w.clock.Step(100 * time.Millisecond)
		return !strings.HasSuffix(string(w.stack("rolling").StackStatus), "IN_PROGRESS")
	})
	w.settled("rolling", want)
}

func (w *suite) version(id string) string {
	w.t.Helper()
	for _, i := range w.get("workers").Instances {
		if *i.InstanceId == id {
			return *i.LaunchTemplate.Version
		}
	}
	return ""
}

// sayInOrder checks that the group's events contain the messages in this order.
func (w *suite) sayInOrder(texts ...string) {
	w.t.Helper()
	said := w.said()
	for _, line := range said {
		if len(texts) > 0 && strings.Contains(line, texts[0]) {
			texts = texts[1:]
		}
	}
	if len(texts) > 0 {
		w.t.Errorf("the events lack %q:\n%s", texts[0], strings.Join(said, "\n"))
	}
}

func TestMissingSignalsRollGroupBack(t *testing.T) {
	w, old := startRolling(t, rollingStack, map[string]string{"Pause": "PT1M"})
	w.update(rollingStack, map[string]string{"Pause": "PT1M", "Type": "m6i.xlarge"})
	w.waitsFor("Waiting on 1 resource signal(s) with a timeout of PT1M.", 1)
	bad := w.others("workers", old...)
	w.clock.Step(time.Minute)
	w.soon("the way back", func() bool { return strings.Count(strings.Join(w.said(), " "), "Rolling update initiated.") == 2 })
	w.answer(append(bad, old...), cfntypes.ResourceSignalStatusSuccess, cfntypes.StackStatusUpdateRollbackComplete)
	w.sayInOrder("Failed to receive 1 resource signal(s) for the current batch.  Each resource signal timeout is counted as a FAILURE.",
		"Received 0 SUCCESS signal(s) out of 3.  Unable to satisfy 100% MinSuccessfulInstancesPercent requirement",
		"Rolling update initiated. Terminating 1 obsolete instance(s) in batches of 1, while keeping at least 3 instance(s) in service. "+
			"Waiting on resource signals with a timeout of PT1M when new instances are added to the autoscaling group.",
		"Terminating instance(s) ["+bad[0]+"]; replacing with 1 new instance(s).",
		"Successfully terminated instance(s) ["+bad[0]+"] (Progress 100%).")
	// If the template does not set the desired capacity, the update's value stays; the minimum is
	// restored. See package rolling.
	g := w.get("workers")
	if *g.MinSize != 3 || *g.DesiredCapacity != 4 || len(g.SuspendedProcesses) != 0 || *g.LaunchTemplate.Version != "1" {
		t.Errorf("the group is %+v", g)
	}
	for _, id := range w.inService("workers") {
		if w.version(id) != "1" {
			t.Errorf("%s has version %s", id, w.version(id))
		}
	}
	for _, id := range old {
		if !slices.Contains(w.inService("workers"), id) {
			t.Errorf("%s was replaced although it was as it should be", id)
		}
	}
}

func TestSomeInstancesMayFail(t *testing.T) {
	values := map[string]string{"Percent": "50", "InService": "1", "Batch": "3", "Max": "4"}
	w, old := startRolling(t, rollingStack, values)
	values["Type"] = "m6i.xlarge"
	w.update(rollingStack, values)
	w.waitsFor("Waiting on 1 resource signal(s)", 1)
	first := w.others("workers", old...)[0]
	if err := w.signal(first, cfntypes.ResourceSignalStatusFailure); err != nil {
		t.Fatal(err)
	}
	w.waitsFor("Received FAILURE signal with UniqueId "+first, 1)
	w.answer(append(old, first), cfntypes.ResourceSignalStatusSuccess, cfntypes.StackStatusUpdateComplete)
	w.sayInOrder("Terminating 3 obsolete instance(s) in batches of 3, while keeping at least 1 instance(s) in service.",
		"MinSize and DesiredCapacity to 4.", "replacing with 2 new instance(s).", "Waiting on 2 resource signal(s)")
	if n := len(w.until("workers", 3)); n != 3 {
		t.Errorf("%d instances", n)
	}
}

func TestTooManyFailuresEndRollAtOnce(t *testing.T) {
	w, old := startRolling(t, rollingStack, nil)
	w.update(rollingStack, map[string]string{"Type": "m6i.xlarge"})
	w.waitsFor("Waiting on 1 resource signal(s)", 1)
	bad := w.others("workers", old...)
	if err := w.signal(bad[0], cfntypes.ResourceSignalStatusFailure); err != nil {
		t.Fatal(err)
	}
	w.waitsFor("Rolling update initiated.", 2)
	w.sayInOrder("Received 1 FAILURE signal(s) out of 3.  Unable to satisfy 100% MinSuccessfulInstancesPercent requirement")
	// If the rollback also fails, the stack stays in its failed state until the rollback is
	// continued.
	w.answer(append(bad, old...), cfntypes.ResourceSignalStatusFailure, cfntypes.StackStatusUpdateRollbackFailed)
	if _, err := w.cfn.ContinueUpdateRollback(t.Context(), &awscfn.ContinueUpdateRollbackInput{
		StackName: aws.String("rolling"),
	}); err != nil {
		t.Fatal(err)
	}
	w.answer(w.inService("workers"), cfntypes.ResourceSignalStatusSuccess, cfntypes.StackStatusUpdateRollbackComplete)
	if g := w.get("workers"); *g.MinSize != 3 || *g.LaunchTemplate.Version != "1" || len(g.SuspendedProcesses) != 0 {
		t.Errorf("the group is %+v", g)
	}
}

func TestCancelledRollIsRolledBack(t *testing.T) {
	w, old := startRolling(t, rollingStack, nil)
	w.update(rollingStack, map[string]string{"Type": "m6i.xlarge"})
	w.waitsFor("Waiting on 1 resource signal(s)", 1)
	bad := w.others("workers", old...)
	if _, err := w.cfn.CancelUpdateStack(t.Context(), &awscfn.CancelUpdateStackInput{StackName: aws.String("rolling")}); err != nil {
		t.Fatal(err)
	}
	w.answer(append(bad, old...), cfntypes.ResourceSignalStatusSuccess, cfntypes.StackStatusUpdateRollbackComplete)
	w.sayInOrder("Resource update cancelled", "Terminating 1 obsolete instance(s)", "["+bad[0]+"]")
	if g := w.get("workers"); *g.MinSize != 3 || len(g.SuspendedProcesses) != 0 || len(w.inService("workers")) != 4 {
		t.Errorf("the group is %+v", g)
	}
	if err := w.signal(old[0], cfntypes.ResourceSignalStatusSuccess); err == nil ||
		!strings.Contains(err.Error(), "is in UPDATE_ROLLBACK_COMPLETE state and cannot be signaled") {
		t.Errorf("a signal after the roll: %v", err)
	}
}

func TestGroupsOfOneAndZeroRoll(t *testing.T) {
	values := map[string]string{"Min": "1", "Max": "1", "InService": "0"}
	w, old := startRolling(t, rollingStack, values)
	values["Type"] = "m6i.xlarge"
	w.update(rollingStack, values)
	w.answer(old, cfntypes.ResourceSignalStatusSuccess, cfntypes.StackStatusUpdateComplete)
	want := "Rolling update initiated. Terminating 1 obsolete instance(s) in batches of 1. " +
		"Waiting on resource signals with a timeout of PT15M when new instances are added to the autoscaling group."
	if said := w.said(); said[0] != want || !strings.HasSuffix(said[1], "replacing with 1 new instance(s).") {
		t.Errorf("the events are\n%s", strings.Join(said, "\n"))
	}
	values["Min"] = "0"
	w.update(rollingStack, values)
	w.settled("rolling", cfntypes.StackStatusUpdateComplete)
	if _, err := w.SetDesiredCapacity(t.Context(), &awsas.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("workers"), DesiredCapacity: aws.Int32(0)}); err != nil {
		t.Fatal(err)
	}
	w.until("workers", 0)
	values["Type"] = "m6i.2xlarge"
	w.update(rollingStack, values)
	w.settled("rolling", cfntypes.StackStatusUpdateComplete)
	if said := w.said(); len(said) != 0 {
		t.Errorf("a group of none was rolled:\n%s", strings.Join(said, "\n"))
	}
}

func TestChangesOfSizesAndTagsDoNotRoll(t *testing.T) {
	w, old := startRolling(t, rollingStack, nil)
	if _, err := w.SetDesiredCapacity(t.Context(), &awsas.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("workers"), DesiredCapacity: aws.Int32(4)}); err != nil {
		t.Fatal(err)
	}
	now := w.until("workers", 4)
	w.update(rollingStack, map[string]string{"Max": "7"})
	w.settled("rolling", cfntypes.StackStatusUpdateComplete)
	if got := w.inService("workers"); !slices.Equal(got, now) || len(w.said()) != 0 {
		t.Errorf("%v became %v: %v", old, got, w.said())
	}
	if _, err := w.UpdateAutoScalingGroup(t.Context(), &awsas.UpdateAutoScalingGroupInput{AutoScalingGroupName: aws.String("workers"), MinSize: aws.Int32(1)}); err != nil {
		t.Fatal(err)
	}
	// Values that did not change in the template keep the user's changes.
	w.update(rollingStack, map[string]string{"Max": "8"})
	w.settled("rolling", cfntypes.StackStatusUpdateComplete)
	if g := w.get("workers"); *g.MinSize != 1 || *g.MaxSize != 8 || *g.DesiredCapacity != 4 {
		t.Errorf("the group is %+v", g)
	}
}

func TestImpossiblePolicyFails(t *testing.T) {
	for what, c := range map[string]struct {
		values map[string]string
		want   string
	}{
		"as many in service as there may be": {map[string]string{"InService": "5"}, "MinInstancesInService must be less than the autoscaling group's MaxSize"},
		"a pause of more than an hour":       {map[string]string{"Pause": "PT61M"}, "PauseTime PT61M exceeds the maximum of PT1H"},
		"a percentage over a hundred":        {map[string]string{"Percent": "101"}, "MinSuccessfulInstancesPercent must be between 0 and 100, not 101"},
		"a batch of none":                    {map[string]string{"Batch": "0"}, "MaxBatchSize must be at least 1, not 0"},
	} {
		t.Run(what, func(t *testing.T) {
			w, old := startRolling(t, rollingStack, nil)
			c.values["Type"] = "m6i.xlarge"
			w.update(rollingStack, c.values)
			w.settled("rolling", cfntypes.StackStatusUpdateRollbackComplete)
			w.sayInOrder(c.want)
			if got := w.inService("workers"); !slices.Equal(got, old) {
				t.Errorf("%v became %v", old, got)
			}
		})
	}
}

func TestProcessesSuspendedByUserStaySuspended(t *testing.T) {
	w, old := startRolling(t, rollingStack, nil)
	if _, err := w.SuspendProcesses(t.Context(), &awsas.SuspendProcessesInput{
		AutoScalingGroupName: aws.String("workers"), ScalingProcesses: []string{"AZRebalance", "ScheduledActions"},
	}); err != nil {
		t.Fatal(err)
	}
	w.update(rollingStack, map[string]string{"Type": "m6i.xlarge"})
	w.waitsFor("Waiting on 1 resource signal(s)", 1)
	if n := len(w.get("workers").SuspendedProcesses); n != 5 {
		t.Errorf("%d processes are suspended while the group is rolled", n)
	}
	w.answer(old, cfntypes.ResourceSignalStatusSuccess, cfntypes.StackStatusUpdateComplete)
	var left []string
	for _, p := range w.get("workers").SuspendedProcesses {
		left = append(left, *p.ProcessName)
	}
	if !slices.Equal(left, []string{"AZRebalance", "ScheduledActions"}) {
		t.Errorf("left suspended: %v", left)
	}
}

func TestRollDoesNotWaitForTerminatingHooks(t *testing.T) {
	body := strings.Replace(rollingStack, "      AutoScalingGroupName: workers\n", `      AutoScalingGroupName: workers
      LifecycleHookSpecificationList:
        - {LifecycleHookName: drain, LifecycleTransition: "autoscaling:EC2_INSTANCE_TERMINATING", DefaultResult: CONTINUE, HeartbeatTimeout: 7200}
`, 1)
	w, old := startRolling(t, body, nil)
	w.update(body, map[string]string{"Type": "m6i.xlarge"})
	w.answer(old, cfntypes.ResourceSignalStatusSuccess, cfntypes.StackStatusUpdateComplete)
	if held := w.in("workers", types.LifecycleStateTerminatingWait); !slices.Equal(held, old) {
		t.Errorf("held: %v", held)
	}
	if n := len(w.inService("workers")); n != 3 {
		t.Errorf("%d instances are in service", n)
	}
}

func TestUserTerminatesInstancesDuringRoll(t *testing.T) {
	w, old := startRolling(t, rollingStack, nil)
	w.update(rollingStack, map[string]string{"Type": "m6i.xlarge"})
	w.waitsFor("Waiting on 1 resource signal(s)", 1)
	fresh := w.others("workers", old...)
	for _, id := range []string{fresh[0], old[0]} {
		if _, err := w.TerminateInstanceInAutoScalingGroup(t.Context(), &awsas.TerminateInstanceInAutoScalingGroupInput{
			InstanceId: &id, ShouldDecrementDesiredCapacity: aws.Bool(false),
		}); err != nil {
			t.Fatal(err)
		}
	}
	w.answer(append(old, fresh...), cfntypes.ResourceSignalStatusSuccess, cfntypes.StackStatusUpdateComplete)
	for _, id := range w.until("workers", 3) {
		if w.version(id) != "2" {
			t.Errorf("%s has version %s", id, w.version(id))
		}
	}
}

func TestRollWithoutCapacityIsRolledBack(t *testing.T) {
	w, old := startRolling(t, rollingStack, nil)
	for _, zone := range []string{"a", "b", "c"} {
		w.compute.SetCapacity(region+zone, "m6i.xlarge", false)
	}
	w.update(rollingStack, map[string]string{"Type": "m6i.xlarge"})
	w.answer(old, cfntypes.ResourceSignalStatusSuccess, cfntypes.StackStatusUpdateRollbackComplete)
	w.sayInOrder(
		"Temporarily setting autoscaling group MinSize and DesiredCapacity to 4.",
		"Group did not stabilize. {current/minSize/maxSize group size = 3/4/5}. Failed Scaling Activity: ",
	)
	if g := w.get("workers"); *g.MinSize != 3 || *g.LaunchTemplate.Version != "1" {
		t.Errorf("the group is %+v", g)
	}
}

func TestRollWithoutSignalsPauses(t *testing.T) {
	body := strings.NewReplacer("        WaitOnResourceSignals: true\n", "", "        MinSuccessfulInstancesPercent: !Ref Percent\n", "").
		Replace(rollingStack)
	w, old := startRolling(t, body, map[string]string{"Pause": "PT10S"})
	began := w.clock.Now()
	w.update(body, map[string]string{"Pause": "PT10S", "Type": "m6i.xlarge"})
	w.settled("rolling", cfntypes.StackStatusUpdateComplete)
	w.sayInOrder("in service. Pausing for PT10S when new instances are added to the autoscaling group.",
		"New instance(s) added to autoscaling group - Pausing for PT10S.")
	if took := w.clock.Since(began); took < 30*time.Second {
		t.Errorf("three batches took %s", took)
	}
	if left := w.others("workers", old...); len(left) != 3 {
		t.Errorf("new: %v", left)
	}
}

func TestReplacingUpdateCreatesNewGroup(t *testing.T) {
	body := strings.NewReplacer("AutoScalingRollingUpdate:", "AutoScalingReplacingUpdate: {WillReplace: true}\n      AutoScalingRollingUpdate:",
		"      AutoScalingGroupName: workers\n", "").
		Replace(rollingStack)
	w, _ := startRolling(t, body, nil)
	out, err := w.DescribeAutoScalingGroups(t.Context(), &awsas.DescribeAutoScalingGroupsInput{})
	before := must(t, out, err).AutoScalingGroups
	w.update(body, map[string]string{"Type": "m6i.xlarge"})
	w.settled("rolling", cfntypes.StackStatusUpdateComplete)
	out, err = w.DescribeAutoScalingGroups(t.Context(), &awsas.DescribeAutoScalingGroupsInput{})
	after := must(t, out, err).AutoScalingGroups
	if len(after) != 1 || *after[0].AutoScalingGroupName == *before[0].AutoScalingGroupName ||
		len(w.inService(*after[0].AutoScalingGroupName)) != 3 {
		t.Errorf("the groups are %+v", after)
	}
}

func TestCreationPolicyWaitsForItsShareOfInstances(t *testing.T) {
	for what, c := range map[string]struct {
		signals int
		want    cfntypes.StackStatus
	}{
		"all of them": {3, cfntypes.StackStatusCreateComplete},
		"as many as must succeed, at the timeout": {2, cfntypes.StackStatusCreateComplete},
		"too few": {1, cfntypes.StackStatusRollbackComplete},
	} {
		t.Run(what, func(t *testing.T) {
			body := strings.Replace(rollingStack, "    UpdatePolicy:\n", `    CreationPolicy:
      ResourceSignal: {Count: 3, Timeout: PT1M}
      AutoScalingCreationPolicy: {MinSuccessfulInstancesPercent: 60}
    UpdatePolicy:
`, 1)
			w := startWith(t, testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
			_, err := w.cfn.CreateStack(
				t.Context(), &awscfn.CreateStackInput{StackName: aws.String("rolling"), TemplateBody: &body, Parameters: w.parameters(nil)},
			)
			if err != nil {
				t.Fatal(err)
			}
			ids := w.until("workers", 3)
			for _, id := range ids[:c.signals] {
				if err := w.signal(id, cfntypes.ResourceSignalStatusSuccess); err != nil {
					t.Fatal(err)
				}
			}
			w.settled("rolling", c.want)
			if c.want == cfntypes.StackStatusRollbackComplete && !strings.Contains(w.reasons("rolling"),
				"Received 1 SUCCESS signal(s) out of 3.  Unable to satisfy 60% MinSuccessfulInstancesPercent requirement") {
				t.Errorf("the events are\n%s", w.reasons("rolling"))
			}
		})
	}
}

func TestDesiredCapacityOfTemplateIsRestored(t *testing.T) {
	body := strings.Replace(rollingStack, "      MinSize: !Ref Min\n", "      MinSize: !Ref Min\n      DesiredCapacity: !Ref Min\n", 1)
	body = strings.Replace(body, "      AutoScalingScheduledAction: {IgnoreUnmodifiedGroupSizeProperties: true}\n", "", 1)
	w, old := startRolling(t, body, nil)
	w.update(body, map[string]string{"Type": "m6i.xlarge"})
	w.waitsFor("Waiting on 1 resource signal(s)", 1)
	bad := w.others("workers", old...)
	if err := w.signal(bad[0], cfntypes.ResourceSignalStatusFailure); err != nil {
		t.Fatal(err)
	}
	w.settled("rolling", cfntypes.StackStatusUpdateRollbackComplete)
	w.sayInOrder("Received 1 FAILURE signal(s)", "Terminating instance(s) ["+bad[0]+"]; replacing with 0 new instance(s).")
	if now := w.until("workers", 3); !slices.Equal(now, old) {
		t.Errorf("%v became %v", old, now)
	}
	if g := w.get("workers"); *g.MinSize != 3 || *g.DesiredCapacity != 3 {
		t.Errorf("the group is %+v", g)
	}
}

func TestStackCreatesScheduledActions(t *testing.T) {
	body := rollingStack + `  Night:
    Type: AWS::AutoScaling::ScheduledAction
    Properties: {AutoScalingGroupName: !Ref Group, DesiredCapacity: 5, Recurrence: 0 1 * * *, TimeZone: UTC}
`
	w, _ := startRolling(t, body, nil)
	w.clock.SetTime(time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC))
	w.soon("five instances", func() bool { return len(w.inService("workers")) == 5 })
	w.update(rollingStack, map[string]string{"Max": "6"})
	w.settled("rolling", cfntypes.StackStatusUpdateComplete)
	out, err := w.DescribeScheduledActions(t.Context(), &awsas.DescribeScheduledActionsInput{AutoScalingGroupName: aws.String("workers")})
	if left := must(t, out, err).ScheduledUpdateGroupActions; len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}

func TestMixedGroupOfSpotInstancesRolls(t *testing.T) {
	body := strings.Replace(
		rollingStack,
		"      LaunchTemplate: {LaunchTemplateId: !Ref Template, Version: !GetAtt Template.LatestVersionNumber}\n",
		`      MixedInstancesPolicy:
        InstancesDistribution: {OnDemandPercentageAboveBaseCapacity: 0}
        LaunchTemplate:
          LaunchTemplateSpecification: {LaunchTemplateId: !Ref Template, Version: !GetAtt Template.LatestVersionNumber}
          Overrides: [{InstanceType: !Ref Type}, {InstanceType: m6a.large}]
`,
		1,
	)
	w, old := startRolling(t, body, nil)
	w.update(body, map[string]string{"Type": "m6i.xlarge"})
	w.answer(old, cfntypes.ResourceSignalStatusSuccess, cfntypes.StackStatusUpdateComplete)
	for _, id := range w.until("workers", 3) {
		i, _ := w.compute.Instance(account, region, id)
		if !i.Spot || i.Type != "m6i.xlarge" || slices.Contains(old, id) {
			t.Errorf("the group has %+v", i)
		}
	}
}
