package stack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/cfn/policy"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

const revertible = `
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: items
      DeletionProtectionEnabled: false
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      ProvisionedThroughput: {ReadCapacityUnits: 5, WriteCapacityUnits: 5}
  Group:
    Type: AWS::Logs::LogGroup
    Properties: {LogGroupName: group, RetentionInDays: 7}
`

const logGroup = "AWS::Logs::LogGroup"

// drifting is a stack of which a table has drifted.
func drifting(t *testing.T) *object {
	t.Helper()
	o := newSuite(t).object(revertible)
	o.is(stack.Ready)
	o.units(20)
	return o
}

func (o *object) byHand(kind, id string, edit func(p map[string]any)) {
	o.t.Helper()
	if !o.sim.Simulated().Change("123456789012", region, kind, id, edit) {
		o.t.Fatalf("there is no %s %s", kind, id)
	}
}

func (o *object) units(read int) {
	o.t.Helper()
	o.byHand(table, "items", func(p map[string]any) {
		p["ProvisionedThroughput"] = map[string]any{"ReadCapacityUnits": read, "WriteCapacityUnits": 5}
	})
}

// has compares the throughput of the table.
func (o *object) has(read int) {
	o.t.Helper()
	var got any
	o.byHand(table, "items", func(p map[string]any) { got = p["ProvisionedThroughput"] })
	if want := fmt.Sprintf("map[ReadCapacityUnits:%d WriteCapacityUnits:5]", read); fmt.Sprint(got) != want {
		o.t.Errorf("the table has %v, want %s", got, want)
	}
}

// sets are the names of the stack's change sets that could be executed.
func (o *object) sets() (names []string) {
	o.t.Helper()
	out, err := o.console.ListChangeSets(o.t.Context(), &cloudformation.ListChangeSetsInput{StackName: aws.String("jobs")})
	if err != nil {
		o.t.Fatal(err)
	}
	for _, set := range out.Summaries {
		if set.ExecutionStatus == types.ExecutionStatusAvailable {
			names = append(names, aws.ToString(set.ChangeSetName))
		}
	}
	return names
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/drift-aware-change-sets.html
func TestDriftIsReverted(t *testing.T) {
	o := drifting(t)
	o.is(stack.Ready)
	o.has(20) // nothing is reverted unless the caller wants that
	o.desired.Revert = &stack.Revert{Drift: "one"}
	o.is(stack.Ready)
	o.has(5)
	if o.record.Reverted == "" || o.record.RevertFailure != "" || o.record.RevertedAt == nil {
		t.Errorf("record %+v", o.record)
	}
	if made := o.calls(func() { o.is(stack.Ready) }); len(made) > 0 {
		t.Errorf("after the revert: calls %q", made)
	}
	o.units(30)
	o.desired.Revert.Drift = "two"
	if made := o.calls(func() { o.is(stack.Ready) }); len(made) > 0 {
		t.Errorf("right after a revert: calls %q", made)
	}
	o.has(30)
}

func TestRevertWithoutDriftChangesNothing(t *testing.T) {
	o := newSuite(t).object(revertible)
	o.is(stack.Ready)
	before := o.record.Changed
	o.desired.Revert = &stack.Revert{Drift: "resolved meanwhile"}
	o.is(stack.Ready)
	if o.record.Changed != before || o.record.Reverted == "" || o.record.RevertFailure != "" {
		t.Errorf("record %+v", o.record)
	}
}

// TestRevertWaitsForApproval holds a revert as any other change.
func TestRevertWaitsForApproval(t *testing.T) {
	o := drifting(t)
	o.desired.Revert, o.desired.Review = &stack.Revert{Drift: "one"}, &stack.Review{}
	result := o.is(stack.Proposed)
	if !result.Reverting || result.Proposal == nil || !strings.Contains(result.Proposal.Summary(), "Changes Table in place") {
		t.Fatalf("result %+v", result)
	}
	if text := fmt.Sprintf("%+v", result.Proposal); strings.Contains(text, "20") && strings.Contains(text, "map[") {
		t.Errorf("the proposal has values: %s", text)
	}
	o.has(20)
	o.desired.Review.Shown = result.Proposal.Digest
	if made := o.calls(func() { o.is(stack.Proposed) }); len(made) > 0 {
		t.Errorf("while it waits: calls %q", made)
	}
	o.desired.Review.Approved = []string{result.Proposal.Digest}
	o.is(stack.Ready)
	o.has(5)

	o = drifting(t)
	o.desired.Revert, o.desired.Review = &stack.Revert{Drift: "one"}, &stack.Review{}
	o.is(stack.Proposed)
	o.desired.Revert = nil
	o.is(stack.Ready)
	if sets := o.sets(); len(sets) > 0 {
		t.Errorf("the change set is not withdrawn: %q", sets)
	}
	o.has(20)
}

// TestDeletedResourceIsRecreatedWithConsent re-creates a table, which has data, only with consent.
func TestDeletedResourceIsRecreatedWithConsent(t *testing.T) {
	o := newSuite(t).object(revertible)
	o.is(stack.Ready)
	o.sim.Simulated().Remove("123456789012", region, table, "items")
	o.desired.Revert = &stack.Revert{Drift: "one"}
	o.is(stack.Ready)
	if failure := o.record.RevertFailure; !strings.Contains(failure, "Table (AWS::DynamoDB::Table) was deleted outside of CloudFormation") ||
		!strings.Contains(failure, policy.AllowAnnotation+": replace") {
		t.Errorf("failure %q", failure)
	}
	if sets := o.sets(); len(sets) > 0 {
		t.Errorf("change sets %q", sets)
	}
	if made := o.calls(func() { o.is(stack.Ready) }); len(made) > 0 {
		t.Errorf("after the refusal: calls %q", made)
	}
	o.desired.Allow = policy.Allow{Replace: true}
	o.is(stack.Ready)
	o.has(5)
	if o.record.RevertFailure != "" {
		t.Errorf("failure %q", o.record.RevertFailure)
	}
}

// TestExceptedPropertyIsNotReverted: a change set reverts all drift of a stack.
func TestExceptedPropertyIsNotReverted(t *testing.T) {
	o := drifting(t)
	o.byHand(logGroup, "group", func(p map[string]any) { p["RetentionInDays"] = 30 })
	o.desired.Revert = &stack.Revert{
		Drift: "one", Except: []stack.DriftException{{Resource: "Table", Path: "ProvisionedThroughput"}},
	}
	o.is(stack.Ready)
	if !strings.Contains(o.record.RevertFailure, "Table/ProvisionedThroughput") {
		t.Errorf("failure %q", o.record.RevertFailure)
	}
	o.has(20)
	o.units(5)
	o.desired.Revert.Drift = "two"
	o.is(stack.Ready)
	o.byHand(logGroup, "group", func(p map[string]any) {
		if fmt.Sprint(p["RetentionInDays"]) != "7" {
			t.Errorf("the group has %v", p)
		}
	})
}

// TestFailedRevertIsNotRepeated: the object stays ready, since the stack has its template.
func TestFailedRevertIsNotRepeated(t *testing.T) {
	o := drifting(t)
	o.faults.Add(fault.Rule{
		Service: "cloudformation", Operation: "Update", ResourceType: table, Code: "InvalidRequest", Message: "not now", Times: 1,
	})
	o.desired.Revert = &stack.Revert{Drift: "one"}
	o.is(stack.Ready)
	if failure := o.record.RevertFailure; !strings.Contains(failure, "not now") {
		t.Errorf("failure %q", failure)
	}
	o.has(20)
	if made := o.calls(func() { o.is(stack.Ready) }); slices.Contains(made, "CreateChangeSet") {
		t.Errorf("calls %q", made)
	}
}

// TestUpdateComesBeforeTheRevert edits a stack that has drifted.
func TestUpdateComesBeforeTheRevert(t *testing.T) {
	o := drifting(t)
	o.desired.Revert = &stack.Revert{Drift: "one"}
	o.edit(strings.Replace(revertible, "RetentionInDays: 7", "RetentionInDays: 14", 1))
	made := o.calls(func() { o.is(stack.Ready) })
	if slices.Index(made, "UpdateStack") < 0 || slices.Index(made, "UpdateStack") > slices.Index(made, "CreateChangeSet") {
		t.Errorf("calls %q", made)
	}
	o.has(5)
}

func TestExceptionsOfDrift(t *testing.T) {
	for value, want := range map[string]string{
		"":                                "[]",
		"Queue":                           "[Queue]",
		"Queue/VisibilityTimeout , A/B/0": "[Queue/VisibilityTimeout A/B/0]",
		"/Queue/Tags/":                    "[Queue/Tags]",
	} {
		if got, err := stack.ParseDriftExceptions(value); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q: %v, %v; want %s", value, got, err, want)
		}
	}
	for _, value := range []string{"*", "Que ue", "my-queue/A", "Queue/A B", "Q\x00", strings.Repeat("ä", 5000)} {
		got, err := stack.ParseDriftExceptions(value)
		if err == nil || len(err.Error()) > 500 || !strings.Contains(err.Error(), "Queue/VisibilityTimeout") {
			t.Errorf("%q: %v, %v", value, got, err)
		}
	}
}

// TestExceptedDriftDoesNotCount has a property that differs and is excepted.
func TestExceptedDriftDoesNotCount(t *testing.T) {
	d := newDrifter(t, 0)
	d.delay(9)
	d.request.Except = []stack.DriftException{{Resource: "Queue", Path: "DelaySeconds"}}
	if found := d.check(); found.Status != stack.InSync || !strings.Contains(found.Message, "excepted") {
		t.Errorf("found %+v", found)
	}
	d.request.Except = []stack.DriftException{{Resource: "Queue", Path: "Delay"}, {Resource: "Other"}}
	if found := d.check(); found.Status != stack.Drifted {
		t.Errorf("found %+v", found)
	}
}
