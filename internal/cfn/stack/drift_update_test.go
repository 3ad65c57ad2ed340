package stack_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/diff"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
)

// crowdedClients are clients with calls that wait for the budget.
type crowdedClients struct {
	*awsapi.Clients
	waiting int
}

func (c *crowdedClients) Waiting(awsapi.Target, string) int { return c.waiting }

// TestUpdateIsCheckedOnlyWithFreeBudget updates a stack while calls wait for the budget, and while none
// does.
func TestUpdateIsCheckedOnlyWithFreeBudget(t *testing.T) {
	d := newDrifter(t, 24*time.Hour)
	d.clock.Step(2 * time.Hour)
	clients := &crowdedClients{Clients: d.clients, waiting: 1}
	d.mu.Lock()
	d.engine = stack.New(stack.Options{Clients: clients, Clock: d.clock, RetryDelay: time.Millisecond})
	d.mu.Unlock()
	var record stack.DriftRecord
	update := func(delay int) (sent stack.Result, calls []string) {
		t.Helper()
		d.edit(unnamed(delay))
		calls = d.calls(func() {
			for range 10 {
				d.desired.DriftCheck = &stack.DriftCheck{Request: d.request, Record: record, Recent: time.Hour}
				result, err := d.ensure()
				if err != nil {
					t.Fatal(err)
				}
				if result.Drift != nil {
					record = result.Drift.Record
				}
				if result.Sent {
					sent = result
					return
				}
				d.detected(record.DetectionID)
				d.clock.Step(result.RequeueAfter)
			}
			t.Fatal("the update was not sent")
		})
		d.desired.DriftCheck = nil
		d.object.until(stack.Ready, func() (stack.Result, error) {
			d.clock.Step(10 * time.Second) // Without an event, the engine polls when its time has come.
			return d.ensure()
		})
		return sent, calls
	}
	sent, calls := update(2)
	if sent.Unchecked == "" || slices.Contains(calls, "DetectStackDrift") {
		t.Errorf("while calls wait: %q, calls %q", sent.Unchecked, calls)
	}
	clients.waiting = 0
	if sent, calls = update(3); sent.Unchecked != "" || !slices.Contains(calls, "DetectStackDrift") {
		t.Errorf("while no call waits: %q, calls %q", sent.Unchecked, calls)
	}
	if sent, calls = update(4); sent.Unchecked != "" || slices.Contains(calls, "DetectStackDrift") {
		t.Errorf("just after a check: %q, calls %q", sent.Unchecked, calls)
	}
	d.clock.Step(time.Hour)
	d.delay(9)
	sent, _ = update(5)
	found := sent.Drift.Drift
	if found == nil || found.Status != stack.Drifted {
		t.Fatalf("after a change by hand: %+v", sent.Drift)
	}
	over := stack.OverwrittenBy(sent.Plan, found.Resources)
	if want := "The update overwrites Queue/DelaySeconds (9 in AWS)."; over.Sentences() != want {
		t.Errorf("%q, want %q", over.Sentences(), want)
	}
}

func TestOverwrittenBy(t *testing.T) {
	property := func(path string) []stack.DriftedProperty {
		return []stack.DriftedProperty{{Path: path, Difference: "NOT_EQUAL", Expected: "1", Actual: "2"}}
	}
	drifted := []stack.DriftedResource{
		{Resource: "Same", Properties: property("Delay")},
		{Resource: "Changed", Properties: append(property("Policy/count"), property("Delay")...)},
		{Resource: "Replaced", Properties: property("Delay")},
		{Resource: "Lost", Deleted: true},
	}
	plan := &diff.Plan{Changes: []diff.Change{
		{LogicalID: "Changed", Action: diff.Update, Properties: []diff.PropertyChange{{Path: "Policy"}}},
		{LogicalID: "Replaced", Action: diff.Replace, Properties: []diff.PropertyChange{{Path: "Name"}}},
	}}
	over := stack.OverwrittenBy(plan, drifted)
	want := "The update overwrites Changed/Policy/count (2 in AWS) and Replaced/Delay (2 in AWS). " +
		"It may overwrite Changed/Delay (2 in AWS), of which the template's value stays the same: that depends on the resource type. " +
		"It leaves Same/Delay (2 in AWS) and Lost (deleted in AWS) unchanged."
	if got := over.Sentences(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	over = stack.OverwrittenBy(&diff.Plan{}, drifted[:1])
	if got, want := over.Sentences(), "The update leaves Same/Delay (2 in AWS) unchanged."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if over := stack.OverwrittenBy(plan, nil); over.Sentences() != "" {
		t.Errorf("%q without drift", over.Sentences())
	}
}
