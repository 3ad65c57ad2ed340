package cloudformation_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscfn "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

const childTemplate = `{"Parameters": {"Delay": {"Type": "Number"}},
	"Resources": {"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": {"Ref": "Delay"}}}},
	"Outputs": {"Url": {"Value": {"Ref": "Queue"}}}}`

func parent(delay string) string {
	return `{"Resources": {"Child": {"Type": "AWS::CloudFormation::Stack", "Properties": {
		"TemplateURL": "https://templates.s3.amazonaws.com/child.json", "Parameters": {"Delay": "` + delay + `"}}}},
		"Outputs": {"Url": {"Value": {"Fn::GetAtt": ["Child", "Outputs.Url"]}}}}`
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-nested-stacks.html
func TestNestedStack(t *testing.T) {
	w := newSuite(t, nil)
	w.objects["templates/child.json"] = childTemplate
	s := w.createAndWait("parent", parent("1"))
	if got := aws.ToString(s.Outputs[0].OutputValue); !strings.HasPrefix(got, "https://sqs.") {
		t.Errorf("output %s", got)
	}
	childID := *w.resource("parent", "Child").PhysicalResourceId
	child := w.stack(childID)
	if aws.ToString(child.ParentId) != *s.StackId || aws.ToString(child.RootId) != *s.StackId ||
		!strings.HasPrefix(*child.StackName, "parent-Child-") {
		t.Errorf("child %+v", child)
	}
	if err := w.update("parent", parent("2")); err != nil {
		t.Fatal(err)
	}
	w.waitFor("parent", types.StackStatusUpdateComplete)
	w.waitFor(childID, types.StackStatusUpdateComplete)
	if err := w.update("parent", parent("901")); err != nil {
		t.Fatal(err)
	}
	w.waitFor("parent", types.StackStatusUpdateRollbackComplete)
	w.waitFor(childID, types.StackStatusUpdateRollbackComplete)
	w.delete("parent")
	w.waitFor(*s.StackId, types.StackStatusDeleteComplete)
	w.waitFor(childID, types.StackStatusDeleteComplete)
}

func TestNestedStackRollsBackWithItsParent(t *testing.T) {
	w := newSuite(t, nil)
	w.objects["templates/child.json"] = childTemplate
	template := func(delay, sibling string) string {
		return strings.Replace(parent(delay), `{"Resources": {`,
			`{"Resources": {"Sibling": {"Type": "AWS::SQS::Queue", "DependsOn": "Child", "Properties": {"DelaySeconds": `+sibling+`}}, `, 1)
	}
	w.createAndWait("family", template("1", "1"))
	childID := *w.resource("family", "Child").PhysicalResourceId
	w.mu.Lock()
	w.objects["templates/child.json"] = strings.Replace(childTemplate, `"Outputs"`, `"Metadata": {"v": 2}, "Outputs"`, 1)
	w.mu.Unlock()
	if err := w.update("family", template("2", "901")); err != nil {
		t.Fatal(err)
	}
	w.waitFor("family", types.StackStatusUpdateRollbackComplete)
	child := w.waitFor(childID, types.StackStatusUpdateComplete)
	if got := *child.Parameters[0].ParameterValue; got != "1" {
		t.Errorf("the child has Delay %s after its parent's rollback", got)
	}
	original, err := w.GetTemplate(t.Context(), &awscfn.GetTemplateInput{StackName: aws.String(childID)})
	if err != nil || *original.TemplateBody != childTemplate {
		t.Errorf("the child has another template: %v %v", original, err)
	}
}

func TestChangedTemplateBehindTheSameURL(t *testing.T) {
	w := newSuite(t, nil)
	w.objects["templates/child.json"] = childTemplate
	w.createAndWait("parent", parent("1"))
	childID := *w.resource("parent", "Child").PhysicalResourceId
	w.mu.Lock()
	w.objects["templates/child.json"] = strings.Replace(childTemplate, `"Queue": {`, `"More": {"Type": "AWS::SQS::Queue"}, "Queue": {`, 1)
	w.mu.Unlock()
	if err := w.update("parent", parent("1")); err != nil {
		t.Fatal(err)
	}
	w.waitFor("parent", types.StackStatusUpdateComplete)
	w.resource(childID, "More")
}

func TestFailedNestedStackFailsItsParent(t *testing.T) {
	w := newSuite(t, nil)
	w.objects["templates/child.json"] = childTemplate
	w.create("parent", parent("901"))
	w.waitFor("parent", types.StackStatusRollbackComplete)
	events := strings.Join(w.events("parent"), "\n")
	if !strings.Contains(events, "was not successfully created: The following resource(s) failed to create: [Queue].") {
		t.Errorf("events:\n%s", events)
	}
	if n := w.engine.Simulated().Len(account, region, "AWS::SQS::Queue"); n != 0 {
		t.Errorf("%d queues are left", n)
	}
}

const signalled = `{"Resources": {"Group": {"Type": "AWS::Kinesis::Stream",
	"CreationPolicy": {"ResourceSignal": {"Count": 2, "Timeout": "PT10M"}}}}}`

func (w *suite) signal(stack, id string, status types.ResourceSignalStatus) {
	w.t.Helper()
	_, err := w.SignalResource(w.t.Context(), &awscfn.SignalResourceInput{
		StackName: aws.String(stack), LogicalResourceId: aws.String("Group"), UniqueId: aws.String(id), Status: status,
	})
	if err != nil {
		w.t.Fatalf("SignalResource: %v", err)
	}
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-creationpolicy.html
func TestCreationPolicyWaitsForSignals(t *testing.T) {
	w := newSuite(t, fakeTime)
	w.create("signals", signalled)
	w.eventually(func() bool { return len(w.events("signals")) == 3 }, func() string { return "not begun" })
	w.signal("signals", "i-1", types.ResourceSignalStatusSuccess)
	w.signal("signals", "i-1", types.ResourceSignalStatusSuccess) // a repeated signal counts once
	w.signal("signals", "i-2", types.ResourceSignalStatusSuccess)
	w.waitFor("signals", types.StackStatusCreateComplete)
	expectEvents(t, w.events("signals")[3:],
		"Group CREATE_IN_PROGRESS Received SUCCESS signal with UniqueId i-1",
		"Group CREATE_IN_PROGRESS Received SUCCESS signal with UniqueId i-2",
		"Group CREATE_COMPLETE", "signals CREATE_COMPLETE")
}

func TestCreationPolicyFails(t *testing.T) {
	t.Run("a failure signal cannot be made up for", func(t *testing.T) {
		w := newSuite(t, fakeTime)
		w.create("signals", signalled)
		w.eventually(func() bool { return len(w.events("signals")) == 3 }, func() string { return "not begun" })
		w.signal("signals", "i-1", types.ResourceSignalStatusFailure)
		w.waitFor("signals", types.StackStatusRollbackComplete)
	})
	t.Run("the timeout passes", func(t *testing.T) {
		w := newSuite(t, fakeTime)
		w.create("signals", signalled)
		w.eventually(func() bool { return w.clock.HasWaiters() }, func() string { return "no timer is set" })
		w.clock.Step(10 * time.Minute)
		w.waitFor("signals", types.StackStatusRollbackComplete)
		if e := strings.Join(w.events("signals"), "\n"); !strings.Contains(
			e, "Failed to receive 2 resource signal(s) within the specified duration",
		) {
			t.Errorf("events:\n%s", e)
		}
	})
}

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/using-cfn-waitcondition.html
func TestWaitCondition(t *testing.T) {
	w := newSuite(t, fakeTime)
	w.create("waits", `{"Resources": {"Handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
		"Wait": {"Type": "AWS::CloudFormation::WaitCondition", "Properties": {"Handle": {"Ref": "Handle"}, "Timeout": "60"}}},
		"Outputs": {"Data": {"Value": {"Fn::GetAtt": ["Wait", "Data"]}}}}`)
	w.eventually(func() bool { return w.clock.HasWaiters() }, func() string { return "no timer is set" })
	address, err := url.Parse(*w.resource("waits", "Handle").PhysicalResourceId)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequestWithContext(
		t.Context(),
		http.MethodPut,
		address.EscapedPath(),
		bytes.NewBufferString(`{"Status": "SUCCESS", "UniqueId": "one", "Data": "hello", "Reason": "ok"}`),
	)
	answer := httptest.NewRecorder()
	w.engine.WaitConditions().ServeHTTP(answer, request)
	if answer.Code != http.StatusOK {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	s := w.waitFor("waits", types.StackStatusCreateComplete)
	if got := aws.ToString(s.Outputs[0].OutputValue); got != `{"one":"hello"}` {
		t.Errorf("data %s", got)
	}
}

func TestCreationTimeout(t *testing.T) {
	w := newSuite(t, fakeTime)
	_, err := w.CreateStack(t.Context(), &awscfn.CreateStackInput{
		StackName: aws.String("slow"), TemplateBody: aws.String(signalled), TimeoutInMinutes: aws.Int32(1),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.eventually(func() bool { return len(w.events("slow")) == 3 }, func() string { return "not begun" })
	w.clock.Step(time.Minute)
	w.waitFor("slow", types.StackStatusRollbackComplete)
	e := strings.Join(w.events("slow"), "\n")
	if !strings.Contains(e, "Group CREATE_FAILED Resource creation cancelled") || !strings.Contains(e, "exceeded the specified timeout") {
		t.Errorf("events:\n%s", e)
	}
}
