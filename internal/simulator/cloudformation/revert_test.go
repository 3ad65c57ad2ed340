package cloudformation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

const (
	logGroup     = "AWS::Logs::LogGroup"
	groupAndRole = `{"Resources": {
		"Group": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "group", "RetentionInDays": %d, "Tags": [{"Key": "a", "Value": "1"}]}},
		"Filter": {"Type": "AWS::Logs::LogStream", "Properties": {"LogGroupName": {"Ref": "Group"}, "LogStreamName": "stream"}}}}`
)

// revertDrift creates a drift-aware change set from the previous template.
func (w *suite) revertDrift(stack, name string) *awscfn.DescribeChangeSetOutput {
	w.t.Helper()
	return w.changeSet(&awscfn.CreateChangeSetInput{
		StackName: &stack, ChangeSetName: &name, UsePreviousTemplate: aws.Bool(true), DeploymentMode: types.DeploymentModeRevertDrift,
	})
}

func (w *suite) byHand(kind, id string, edit func(p map[string]any)) {
	w.t.Helper()
	if !w.engine.Simulated().Change(account, region, kind, id, edit) {
		w.t.Fatalf("there is no %s %s", kind, id)
	}
}

// live returns a property of a simulated resource.
func (w *suite) live(kind, id, property string) (value any) {
	w.t.Helper()
	w.byHand(kind, id, func(p map[string]any) { value = p[property] })
	return value
}

// changed are the changes of a change set, one line for each resource and each detail.
func changed(cs *awscfn.DescribeChangeSetOutput) []string {
	var lines []string
	for _, c := range cs.Changes {
		r := c.ResourceChange
		lines = append(lines, fmt.Sprintf("%s %s %s", r.Action, *r.LogicalResourceId, r.ResourceDriftStatus))
		for _, d := range r.Details {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s -> %s %s", d.Target.AttributeChangeType, aws.ToString(d.Target.Path),
				aws.ToString(d.Target.BeforeValue), aws.ToString(d.Target.AfterValue), d.Target.BeforeValueFrom)))
		}
	}
	return lines
}

func (w *suite) wantChanges(cs *awscfn.DescribeChangeSetOutput, status types.StackDriftStatus, want ...string) {
	w.t.Helper()
	if cs.Status != types.ChangeSetStatusCreateComplete || cs.DeploymentMode != types.DeploymentModeRevertDrift ||
		cs.StackDriftStatus != status {
		w.t.Fatalf("the change set is %s (%s), mode %s, stack %s; want %s",
			cs.Status, aws.ToString(cs.StatusReason), cs.DeploymentMode, cs.StackDriftStatus, status)
	}
	if got := changed(cs); !slices.Equal(got, want) {
		w.t.Fatalf("changes\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestRevertOfDrift reverts a property, and leaves a tag key alone that the template does not have.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/drift-aware-change-sets.html
func TestRevertOfDrift(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("logs", fmt.Sprintf(groupAndRole, 7))
	if cs := w.revertDrift("logs", "nothing"); cs.Status != types.ChangeSetStatusFailed ||
		!strings.Contains(aws.ToString(cs.StatusReason), "didn't contain changes") {
		t.Errorf("without drift: %s, %s", cs.Status, aws.ToString(cs.StatusReason))
	}
	w.byHand(logGroup, "group", func(p map[string]any) {
		p["RetentionInDays"] = 30
		p["Tags"] = []any{map[string]any{"Key": "a", "Value": "1"}, map[string]any{"Key": "abac", "Value": "x"}}
	})
	cs := w.revertDrift("logs", "revert")
	w.wantChanges(cs, types.StackDriftStatusDrifted, "Modify Group MODIFIED", "Modify /Properties/RetentionInDays 30 -> 7 ACTUAL_STATE")
	target := cs.Changes[0].ResourceChange.Details[0].Target
	if target.Drift == nil || aws.ToString(target.Drift.PreviousValue) != "7" || aws.ToString(target.Drift.ActualValue) != "30" ||
		target.Drift.DriftDetectionTimestamp == nil || target.AfterValueFrom != types.AfterValueFromTemplate {
		t.Errorf("target %+v, drift %+v", target, target.Drift)
	}
	w.execute("logs", "revert")
	w.waitFor("logs", types.StackStatusUpdateComplete)
	if got := w.live(logGroup, "group", "RetentionInDays"); fmt.Sprint(got) != "7" {
		t.Errorf("RetentionInDays is %v after the revert", got)
	}
	if tags := fmt.Sprint(w.live(logGroup, "group", "Tags")); !strings.Contains(tags, "abac") {
		t.Errorf("the tags are %s: the revert removed a tag that the template does not have", tags)
	}
}

// TestRevertDoesNotTouchImmutableProperties: "Drift-aware change sets do not support drift
// reconciliation for immutable properties".
func TestRevertDoesNotTouchImmutableProperties(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("images", `{"Resources": {"Images": {"Type": "AWS::ECR::Repository", "Properties": {
		"RepositoryName": "images", "EmptyOnDelete": true, "ImageTagMutability": "MUTABLE",
		"EncryptionConfiguration": {"EncryptionType": "AES256"}}}}}`)
	const kind = "AWS::ECR::Repository"
	w.byHand(kind, "images", func(p map[string]any) { p["EncryptionConfiguration"] = map[string]any{"EncryptionType": "KMS"} })
	if cs := w.revertDrift("images", "immutable"); cs.Status != types.ChangeSetStatusFailed {
		t.Fatalf("the change set is %s: %q", cs.Status, changed(cs))
	}
	w.byHand(kind, "images", func(p map[string]any) { p["ImageTagMutability"] = "IMMUTABLE" })
	cs := w.revertDrift("images", "both")
	w.wantChanges(cs, types.StackDriftStatusDrifted,
		"Modify Images MODIFIED", "Modify /Properties/ImageTagMutability IMMUTABLE -> MUTABLE ACTUAL_STATE")
	if ignored := cs.Changes[0].ResourceChange.ResourceDriftIgnoredAttributes; len(ignored) != 1 ||
		aws.ToString(ignored[0].Path) != "/Properties/EmptyOnDelete" || ignored[0].Reason != types.DriftIgnoredReasonWriteOnlyProperty {
		t.Errorf("ignored %+v", ignored)
	}
	w.execute("images", "both")
	w.waitFor("images", types.StackStatusUpdateComplete)
	if got := fmt.Sprint(w.live(kind, "images", "EncryptionConfiguration")); !strings.Contains(got, "KMS") {
		t.Errorf("the revert changed an immutable property to %s", got)
	}
}

// TestRevertRecreatesDeletedResources deletes a resource by hand, as in
// https://aws.amazon.com/blogs/devops/safely-handle-configuration-drift-with-cloudformation-drift-aware-change-sets/
func TestRevertRecreatesDeletedResources(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("logs", fmt.Sprintf(groupAndRole, 7))
	w.engine.Simulated().Remove(account, region, logGroup, "group")
	cs := w.revertDrift("logs", "revert")
	if got := changed(cs); cs.StackDriftStatus != types.StackDriftStatusDrifted || !slices.Contains(got, "Add Group DELETED") {
		t.Fatalf("stack %s, changes %q", cs.StackDriftStatus, got)
	}
	w.execute("logs", "revert")
	w.waitFor("logs", types.StackStatusUpdateComplete)
	if got := w.live(logGroup, "group", "RetentionInDays"); fmt.Sprint(got) != "7" {
		t.Errorf("RetentionInDays of the new group is %v", got)
	}
}

// TestFailedRevertRestoresTheActualState: "CloudFormation will roll back resources to their actual
// pre-deployment state and preserve out-of-band changes".
func TestFailedRevertRestoresTheActualState(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("streams", `{"Resources": {
		"Group": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "group", "RetentionInDays": 7}},
		"Stream": {"Type": "AWS::Kinesis::Stream", "DependsOn": "Group", "Properties": {"Name": "stream", "RetentionPeriodHours": 24}}}}`)
	w.byHand(logGroup, "group", func(p map[string]any) { p["RetentionInDays"] = 30 })
	w.byHand("AWS::Kinesis::Stream", "stream", func(p map[string]any) { p["RetentionPeriodHours"] = 48 })
	w.faults.Add(fault.Rule{
		Service: "cloudformation", Operation: "Update", ResourceType: "AWS::Kinesis::Stream",
		Code: "InvalidRequest", Message: "no", Times: 1,
	})
	w.revertDrift("streams", "revert")
	w.execute("streams", "revert")
	w.waitFor("streams", types.StackStatusUpdateRollbackComplete)
	if got := w.live(logGroup, "group", "RetentionInDays"); fmt.Sprint(got) != "30" {
		t.Errorf("RetentionInDays is %v after the rollback, want the value from before", got)
	}
	if status := w.drifted("streams"); status.StackDriftStatus != types.StackDriftStatusDrifted || *status.DriftedStackResourceCount != 2 {
		t.Errorf("after the rollback the stack is %+v", status)
	}
}

// TestTemplateThatMatchesDrift resets the drift status and changes nothing.
func TestTemplateThatMatchesDrift(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("logs", fmt.Sprintf(groupAndRole, 7))
	w.byHand(logGroup, "group", func(p map[string]any) { p["RetentionInDays"] = 30 })
	cs := w.changeSet(&awscfn.CreateChangeSetInput{
		StackName: aws.String("logs"), ChangeSetName: aws.String("sync"), TemplateBody: aws.String(fmt.Sprintf(groupAndRole, 30)),
		DeploymentMode: types.DeploymentModeRevertDrift,
	})
	w.wantChanges(cs, types.StackDriftStatusDrifted,
		"SyncWithActual Group MODIFIED", "SyncWithActual /Properties/RetentionInDays 30 -> 30 ACTUAL_STATE")
	w.execute("logs", "sync")
	w.waitFor("logs", types.StackStatusUpdateComplete)
	if events := strings.Join(w.events("logs"), "\n"); strings.Contains(events, "Group UPDATE_IN_PROGRESS") {
		t.Errorf("the group was updated:\n%s", events)
	}
	if status := w.drifted("logs"); status.StackDriftStatus != types.StackDriftStatusInSync {
		t.Errorf("the stack is %+v", status)
	}
}

// TestRevertLeavesWhatAWSManages has a table whose capacity Application Auto Scaling sets.
func TestRevertLeavesWhatAWSManages(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("tables", `{"Resources": {
		"Table": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "items",
			"AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
			"ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}}},
		"Reads": {"Type": "AWS::ApplicationAutoScaling::ScalableTarget", "Properties": {"MinCapacity": 5, "MaxCapacity": 50,
			"ResourceId": {"Fn::Sub": "table/${Table}"}, "ScalableDimension": "dynamodb:table:ReadCapacityUnits", "ServiceNamespace": "dynamodb"}}}}`)
	w.byHand("AWS::DynamoDB::Table", "items", func(p map[string]any) {
		p["ProvisionedThroughput"] = map[string]any{"ReadCapacityUnits": 20, "WriteCapacityUnits": 6}
	})
	cs := w.revertDrift("tables", "revert")
	w.wantChanges(cs, types.StackDriftStatusDrifted,
		"Modify Table MODIFIED", "Modify /Properties/ProvisionedThroughput/WriteCapacityUnits 6 -> 5 ACTUAL_STATE")
	if ignored := cs.Changes[0].ResourceChange.ResourceDriftIgnoredAttributes; len(ignored) != 1 ||
		aws.ToString(ignored[0].Path) != "/Properties/ProvisionedThroughput/ReadCapacityUnits" || ignored[0].Reason != types.DriftIgnoredReasonManagedByAws {
		t.Errorf("ignored %+v", ignored)
	}
	w.execute("tables", "revert")
	w.waitFor("tables", types.StackStatusUpdateComplete)
	if got := fmt.Sprint(w.live("AWS::DynamoDB::Table", "items", "ProvisionedThroughput")); got != "map[ReadCapacityUnits:20 WriteCapacityUnits:5]" {
		t.Errorf("the throughput is %s", got)
	}
}

// TestRevertFallsBackToTheTemplates has a type that cannot be compared with its actual state, and one
// that cannot be read.
func TestRevertFallsBackToTheTemplates(t *testing.T) {
	w := newSuite(t, nil)
	const both = `{"Resources": {
		"Policy": {"Type": "AWS::SQS::QueuePolicy", "Properties": {"Queues": ["q"], "PolicyDocument": {"Statement": [], "Id": "%[1]s"}}},
		"Stream": {"Type": "AWS::Kinesis::Stream", "Properties": {"Name": "stream", "ShardCount": %[2]d}}}}`
	w.createAndWait("mixed", fmt.Sprintf(both, "a", 1))
	w.faults.Add(fault.Rule{
		Service: "cloudformation", Operation: "Read", ResourceType: "AWS::Kinesis::Stream",
		Code: "Throttling", Message: "Rate exceeded", Times: 1,
	})
	cs := w.changeSet(&awscfn.CreateChangeSetInput{
		StackName: aws.String("mixed"), ChangeSetName: aws.String("next"), TemplateBody: aws.String(fmt.Sprintf(both, "b", 2)),
		DeploymentMode: types.DeploymentModeRevertDrift,
	})
	w.wantChanges(cs, types.StackDriftStatusUnknown,
		"Modify Policy UNSUPPORTED", "Modify /Properties/PolicyDocument/Id a -> b PREVIOUS_DEPLOYMENT_STATE",
		"Modify Stream UNKNOWN", "Modify /Properties/ShardCount 1 -> 2 PREVIOUS_DEPLOYMENT_STATE")
}

// TestDriftAwareChangeSetIsRefused: the language server of CloudFormation sends the mode only for an
// update without imports and nested stacks, whose failure is rolled back.
// https://github.com/aws-cloudformation/cloudformation-languageserver/pull/233
func TestDriftAwareChangeSetIsRefused(t *testing.T) {
	w := newSuite(t, nil)
	w.createAndWait("logs", fmt.Sprintf(groupAndRole, 7))
	for want, in := range map[string]awscfn.CreateChangeSetInput{
		"enum value set: [REVERT_DRIFT]": {StackName: aws.String("logs"), DeploymentMode: "KEEP_DRIFT"},
		"type CREATE":                    {StackName: aws.String("new"), DeploymentMode: types.DeploymentModeRevertDrift, ChangeSetType: types.ChangeSetTypeCreate},
		"type IMPORT":                    {StackName: aws.String("logs"), DeploymentMode: types.DeploymentModeRevertDrift, ChangeSetType: types.ChangeSetTypeImport},
		"import existing resources": {
			StackName: aws.String("logs"), DeploymentMode: types.DeploymentModeRevertDrift, ImportExistingResources: aws.Bool(true),
		},
		"nested stacks": {StackName: aws.String("logs"), DeploymentMode: types.DeploymentModeRevertDrift, IncludeNestedStacks: aws.Bool(true)},
		"OnStackFailure": {
			StackName: aws.String("logs"), DeploymentMode: types.DeploymentModeRevertDrift, OnStackFailure: types.OnStackFailureDoNothing,
		},
	} {
		in.ChangeSetName, in.TemplateBody = aws.String("refused"), aws.String(fmt.Sprintf(groupAndRole, 7))
		if _, err := w.CreateChangeSet(t.Context(), &in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
