package stack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cfn/template"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// drifter is an object whose stack is checked for drift, on a virtual clock.
type drifter struct {
	*object
	clock   *clocktesting.FakeClock
	request stack.DriftRequest
	saved   []byte // the record as the caller persists it
	made    []string
	last    *stack.Drift
}

func newDrifter(t *testing.T, interval time.Duration) *drifter {
	t.Helper()
	d := &drifter{object: newSuiteWith(t, 1, 2*time.Second).object(unnamed(1)), clock: clocktesting.NewFakeClock(time.Now())}
	d.operator()
	d.is(stack.Ready)
	d.request = stack.DriftRequest{
		Interval: interval, Salt: "uid", Since: d.clock.Now(),
		Deployed: func() (*template.Template, map[string]string, error) {
			return d.desired.Template, d.desired.Parameters, nil
		},
	}
	d.refer()
	return d
}

// operator starts an operator without a state.
func (d *drifter) operator() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.engine = stack.New(stack.Options{Clients: d.clients, Clock: d.clock, RetryDelay: time.Millisecond})
}

// refer sets what the request has of the stack.
func (d *drifter) refer() {
	d.request.Changed = d.record.Changed
	d.request.Owner = stack.Owner{
		Name: d.desired.Name, StackID: d.record.StackID, Tags: map[string]string{ownerTag: d.desired.Tags[ownerTag]},
	}
}

// visit is one call of the engine, and records the calls of AWS that it makes.
func (d *drifter) visit() (result stack.DriftResult) {
	d.t.Helper()
	var known stack.DriftRecord
	if len(d.saved) > 0 {
		if err := json.Unmarshal(d.saved, &known); err != nil {
			d.t.Fatal(err)
		}
	}
	d.made = append(d.made, d.calls(func() { result = d.current().Drift(d.t.Context(), awsapi.Target{}, d.request, known) })...)
	saved, err := json.Marshal(result.Record)
	if err != nil {
		d.t.Fatal(err)
	}
	d.saved = saved
	if result.Drift != nil {
		d.last = result.Drift
	}
	d.detected(result.Record.DetectionID)
	return result
}

// detected waits until CloudFormation has ended a detection, if that is one: it does not follow the
// virtual clock.
func (d *drifter) detected(id string) {
	d.t.Helper()
	if id == "" {
		return
	}
	patience.Until(d.t, "the detection to end", func() error {
		out, err := d.console.DescribeStackDriftDetectionStatus(
			d.t.Context(), &cloudformation.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: &id},
		)
		if err == nil && out.DetectionStatus == types.StackDriftDetectionStatusDetectionInProgress {
			return errors.New("it runs")
		}
		return nil
	})
}

// check asks for a check and returns its result.
func (d *drifter) check() *stack.Drift {
	d.t.Helper()
	d.request.Asked += "x"
	return d.until(20)
}

// until visits until a check has a result.
func (d *drifter) until(visits int) *stack.Drift {
	d.t.Helper()
	for range visits {
		result := d.visit()
		if result.Drift != nil && result.Record.DetectionID == "" && result.Record.Concluded != nil &&
			result.Drift.Reason != stack.ReasonStackChanged {
			return result.Drift
		}
		d.clock.Step(max(result.RequeueAfter, time.Millisecond))
	}
	d.t.Fatalf("no result after %d visits: %s, last %+v", visits, d.saved, d.last)
	return nil
}

// url is the URL of the stack's queue.
func (d *drifter) url() string {
	d.t.Helper()
	out, err := d.console.DescribeStackResource(d.t.Context(), &cloudformation.DescribeStackResourceInput{
		StackName: aws.String(d.record.StackID), LogicalResourceId: aws.String("Queue"),
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return aws.ToString(out.StackResourceDetail.PhysicalResourceId)
}

func (d *drifter) delay(seconds int) {
	d.t.Helper()
	if !d.sim.Simulated().Change("123456789012", region, queue, d.url(), func(p map[string]any) { p["DelaySeconds"] = seconds }) {
		d.t.Fatal("there is no queue")
	}
}

func TestDriftHasBothValues(t *testing.T) {
	d := newDrifter(t, 0)
	is := func(step string, status stack.DriftStatus, news bool, message string) *stack.Drift {
		t.Helper()
		found := d.check()
		if found.Status != status || found.News != news || !strings.Contains(found.Message, message) {
			t.Errorf("%s: %+v, want %s, news %t, %q", step, found, status, news, message)
		}
		return found
	}
	is("new", stack.InSync, false, "no difference")
	d.delay(9)
	found := is("changed", stack.Drifted, true, "DelaySeconds is 9 and should be 1")
	want := stack.DriftedProperty{Path: "DelaySeconds", Difference: "NOT_EQUAL", Expected: "1", Actual: "9"}
	if len(found.Resources) != 1 || !slices.Equal(found.Resources[0].Properties, []stack.DriftedProperty{want}) ||
		found.Resources[0].PhysicalID != d.url() {
		t.Errorf("resources %+v, want %+v", found.Resources, want)
	}
	is("still changed", stack.Drifted, false, "DelaySeconds is 9")
	d.delay(10)
	is("changed again", stack.Drifted, true, "DelaySeconds is 10")
	d.delay(1)
	is("undone", stack.InSync, true, "no difference")
	url := d.url()
	d.sim.Simulated().Remove("123456789012", region, queue, url)
	found = is("deleted", stack.Drifted, true, "was deleted outside of CloudFormation")
	if len(found.Resources) != 1 || !found.Resources[0].Deleted || found.Resources[0].PhysicalID != url {
		t.Errorf("resources %+v, want the deleted queue", found.Resources)
	}
}

// TestIdleObjectMakesOnlyTheCallsOfTheSchedule counts the calls of some days: two for each check, and
// one more if something drifted.
func TestIdleObjectMakesOnlyTheCallsOfTheSchedule(t *testing.T) {
	const days = 3
	for _, c := range []struct {
		name     string
		interval time.Duration
		drifted  bool
		want     map[string]int
	}{
		{"in sync", 24 * time.Hour, false, map[string]int{"DetectStackDrift": days, "DescribeStackDriftDetectionStatus": days}},
		{"drifted", 24 * time.Hour, true, map[string]int{
			"DetectStackDrift": days, "DescribeStackDriftDetectionStatus": days, "DescribeStackResourceDrifts": days,
		}},
		{"off", 0, false, map[string]int{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDrifter(t, c.interval)
			if c.drifted {
				d.delay(9)
			}
			end := d.clock.Now().Add(days*24*time.Hour + time.Minute) // the last check may begin in the last second
			for visits := 0; d.clock.Now().Before(end); visits++ {
				result := d.visit()
				if result.RequeueAfter == 0 {
					break
				}
				if visits > days*10 {
					t.Fatalf("%d visits until %s: %q", visits, d.clock.Now(), d.made)
				}
				d.clock.Step(result.RequeueAfter)
			}
			got := map[string]int{}
			for _, call := range d.made {
				got[call]++
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("calls %v, want %v", got, c.want)
			}
		})
	}
}

// TestDriftCheckSurvivesARestart restarts the operator while a detection runs: it is not started
// again. If the record is lost, too, the operator waits until the detection has ended.
func TestDriftCheckSurvivesARestart(t *testing.T) {
	d := newDrifter(t, 0)
	d.delay(9)
	d.request.Asked = "now"
	if result := d.visit(); result.Record.DetectionID == "" {
		t.Fatalf("no detection runs: %+v", result)
	}
	d.operator()
	d.clock.Step(time.Minute)
	d.made = nil
	if result := d.visit(); result.Drift == nil || result.Drift.Status != stack.Drifted {
		t.Errorf("after the restart: %+v", result)
	}
	if slices.Contains(d.made, "DetectStackDrift") {
		t.Errorf("the restart called %q", d.made)
	}

	d.faults.Add(fault.Rule{Service: "cloudformation", Operation: "Read", ResourceType: queue, Latency: time.Second, Times: 1})
	d.request.Asked = "again"
	before := d.saved
	result := d.current().Drift(t.Context(), awsapi.Target{}, d.request, stack.DriftRecord{})
	if result.Record.DetectionID == "" {
		t.Fatalf("no detection runs: %+v", result)
	}
	d.saved = before // the operator was killed before it could write the object
	d.operator()
	if result := d.visit(); result.Record.DetectionID != "" || result.Drift != nil || result.Record.NextCall == nil {
		t.Errorf("while the lost detection runs: %+v", result)
	}
	d.detected(result.Record.DetectionID)
	d.clock.Step(time.Minute)
	if found := d.until(20); found.Status != stack.Drifted {
		t.Errorf("after the lost detection: %+v", found)
	}
}

func TestThrottledDriftCheckIsRetried(t *testing.T) {
	d := newDrifter(t, 24*time.Hour)
	d.faults.Add(fault.Throttle("cloudformation", "DetectStackDrift", 2))
	d.faults.Add(fault.Throttle("cloudformation", "DescribeStackDriftDetectionStatus", 1))
	if found := d.check(); found.Status != stack.InSync {
		t.Errorf("after throttling: %+v", found)
	}
	d.made = nil
	d.faults.Add(fault.Throttle("cloudformation", "DetectStackDrift", 0))
	found := d.check()
	if found.Status != stack.DriftUnknown || found.Reason != "Throttled" || found.Message == "" {
		t.Errorf("while throttled: %+v", found)
	}
	if n := len(d.made); n > 6 {
		t.Errorf("one check made %d calls: %q", n, d.made)
	}
	if result := d.visit(); result.RequeueAfter < time.Minute {
		t.Errorf("the next check is in %s", result.RequeueAfter)
	}
}

// TestDeniedDriftCheckWaitsForTheSchedule asks once, and not again without a reason.
func TestDeniedDriftCheckWaitsForTheSchedule(t *testing.T) {
	d := newDrifter(t, 24*time.Hour)
	d.faults.Add(fault.Rule{Service: "cloudformation", Operation: "DetectStackDrift", Deny: true})
	found := d.check()
	if found.Status != stack.DriftUnknown || found.Reason != "AccessDenied" || !strings.Contains(found.Message, "cloudformation:DetectStackDrift") {
		t.Errorf("found %+v, want the missing action", found)
	}
	if !slices.Equal(d.made, []string{"DetectStackDrift"}) {
		t.Errorf("calls %q", d.made)
	}
}

// TestFailedDetectionIsUnknown has a resource that CloudFormation cannot read, and then one that
// drifted besides.
func TestFailedDetectionIsUnknown(t *testing.T) {
	d := newDrifter(t, 0)
	d.faults.Add(fault.Rule{
		Service: "cloudformation", Operation: "Read", ResourceType: queue, Code: "AccessDenied", Message: "not today", Times: 1,
	})
	found := d.check()
	if found.Status != stack.DriftUnknown || found.Reason != stack.ReasonDetectionFailed || !strings.Contains(found.Message, "not today") {
		t.Errorf("found %+v", found)
	}
}

// TestAnotherStackIsNeverDetected makes a stack with the object's name, and writes it into the record.
func TestAnotherStackIsNeverDetected(t *testing.T) {
	l := newSuite(t)
	out, err := l.console.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String("jobs"), TemplateBody: aws.String(`{"Resources": {"Queue": {"Type": "AWS::SQS::Queue"}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	l.settled(types.StackStatusCreateComplete)
	o := l.object(unnamed(1))
	d := &drifter{object: o, clock: clocktesting.NewFakeClock(time.Now())}
	d.operator()
	for _, id := range []string{aws.ToString(out.StackId), strings.Replace(aws.ToString(out.StackId), "/jobs/", "/other/", 1)} {
		d.record.StackID, d.record.Changed = id, "created"
		d.refer()
		if found := d.check(); found.Status != stack.DriftUnknown || found.Reason != "StackNotOwned" || len(found.Resources) > 0 {
			t.Errorf("found %+v", found)
		}
	}
	if slices.ContainsFunc(d.made, func(call string) bool { return call != "DescribeStacks" }) {
		t.Errorf("calls %q", d.made)
	}
}

// TestForgedRecordRevealsNothing writes the ID of a detection of another stack, which drifted, and
// times that would postpone checks.
func TestForgedRecordRevealsNothing(t *testing.T) {
	d := newDrifter(t, 24*time.Hour)
	url := d.owned() // in the stack "other"
	d.sim.Simulated().Change("123456789012", region, queue, url, func(p map[string]any) { p["VisibilityTimeout"] = 4711 })
	other, err := d.console.DetectStackDrift(t.Context(), &cloudformation.DetectStackDriftInput{StackName: aws.String("other")})
	if err != nil {
		t.Fatal(err)
	}
	id := aws.ToString(other.StackDriftDetectionId)
	d.detected(id)
	now, future := d.clock.Now().Add(-time.Minute), d.clock.Now().Add(1000*time.Hour)
	for name, forged := range map[string]stack.DriftRecord{
		"another stack's detection": {DetectionID: id, StartedAt: &now, Changed: d.record.Changed},
		"no detection":              {DetectionID: strings.Repeat("x", 10_000), StartedAt: &now, Changed: d.record.Changed},
		"the future":                {DetectionID: id, StartedAt: &future, NextCall: &future, Concluded: &future, Changed: d.record.Changed, Attempts: -5, Polls: 99},
	} {
		d.last = nil
		if d.saved, err = json.Marshal(forged); err != nil {
			t.Fatal(err)
		}
		found := d.check()
		if found.Status != stack.InSync || len(found.Resources) > 0 {
			t.Errorf("%s: found %+v, want the own stack's", name, found)
		}
		if text := fmt.Sprintf("%+v %s", found, d.saved); strings.Contains(text, "4711") || strings.Contains(text, url) {
			t.Errorf("%s: %s reveals another stack", name, text)
		}
	}
}

// TestDriftBeforeAChangeDoesNotCount updates the stack while a detection runs, and after one.
func TestDriftBeforeAChangeDoesNotCount(t *testing.T) {
	d := newDrifter(t, 24*time.Hour)
	d.delay(9)
	if found := d.check(); found.Status != stack.Drifted {
		t.Fatalf("found %+v", found)
	}
	d.edit(unnamed(2)) // the update sets the property
	d.is(stack.Ready)
	d.refer()
	if result := d.visit(); d.last.Reason != stack.ReasonStackChanged || result.Record.DetectionID == "" {
		t.Errorf("after an update of a stack that drifted: %+v %+v, want a check", d.last, result)
	}
	d.edit(unnamed(3))
	d.is(stack.Ready)
	d.refer()
	d.clock.Step(time.Minute)
	if result := d.visit(); result.Drift != nil || result.Record.DetectionID != "" {
		t.Errorf("the result is older than the stack: %+v", result)
	}
	if found := d.until(20); found.Status != stack.InSync || !found.News {
		t.Errorf("found %+v", found)
	}
	d.edit(unnamed(4))
	d.is(stack.Ready)
	d.refer()
	d.made = nil
	if result := d.visit(); d.last.Reason != stack.ReasonStackChanged || len(d.made) > 0 || result.RequeueAfter < time.Second {
		t.Errorf("after an update of a stack in sync: %+v %+v, calls %q", d.last, result, d.made)
	}
}
