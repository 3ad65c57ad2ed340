package controller_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
)

// TestReplacementThatKeepsItsNameIsRefused whatever the user allows: CloudFormation would roll it
// back, and the remedy would be to rename a table that has its object's name.
func TestReplacementThatKeepsItsNameIsRefused(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(strings.Replace(dynamoTable, "metadata:\n", "metadata:\n  annotations: {service-operator.aws/allow: replace}\n", 1))
	w.ready("DynamoDB", "dynamo-table")
	before := w.deployed("DynamoDB", "dynamo-table")
	for _, updates := range []string{"Automatic", "Manual"} {
		w.change("DynamoDB", "dynamo-table", fmt.Sprintf(`{"spec":{"updatePolicy":%q,"hashAttribute":{"name":"id"}}}`, updates))
		refused := w.condition("DynamoDB", "dynamo-table", "Stalled", "True", "RefusedByPolicy")
		for _, part := range []string{"KeySchema", "TableName dynamo-table", "create another object under another name"} {
			if !strings.Contains(refused.Message, part) {
				t.Errorf("updates %s: message %q, want %q in it", updates, refused.Message, part)
			}
		}
	}
	if after := w.deployed("DynamoDB", "dynamo-table"); after != before {
		t.Errorf("AWS was changed:\n%s\nwas\n%s", after, before)
	}
	w.change("DynamoDB", "dynamo-table", `{"spec":{"updatePolicy":"Automatic","hashAttribute":{"name":"name"}}}`)
	w.ready("DynamoDB", "dynamo-table")
}

// TestApprovalOfAReplacedQueue describes the data loss in plain words and requires both consents: to
// the loss, and to the change.
func TestApprovalOfAReplacedQueue(t *testing.T) {
	w := newSuite(t, nil)
	w.apply("{kind: SQSQueue, metadata: {name: orders}, spec: {updatePolicy: Manual}}")
	w.ready("SQSQueue", "orders") // creating it needs no approval
	before := w.deployed("SQSQueue", "orders")

	w.change("SQSQueue", "orders", `{"spec":{"fifoQueue":true}}`)
	w.condition("SQSQueue", "orders", "Stalled", "True", "RefusedByPolicy") // the policy is checked first
	w.change("SQSQueue", "orders", `{"metadata":{"annotations":{"service-operator.aws/allow":"replace"}}}`)
	held := w.condition("SQSQueue", "orders", "Synced", "False", "ApprovalNeeded")
	pending := w.pending("SQSQueue", "orders")
	const loss = "REPLACES the queue Queue ("
	if !strings.HasPrefix(pending.Summary, loss) || !strings.Contains(held.Message, loss) {
		t.Errorf("summary %q, message %q: want %q", pending.Summary, held.Message, loss)
	}
	command := fmt.Sprintf(
		"kubectl annotate --overwrite -n %s sqsqueue.service-operator.aws/orders aws-operator/approve=%s",
		w.namespace,
		pending.Digest,
	)
	if !strings.HasSuffix(held.Message, command) {
		t.Errorf("message %q, want the command %q", held.Message, command)
	}
	if len(pending.Changes) != 1 || pending.Changes[0].Replacement != "True" || !strings.HasPrefix(pending.Changes[0].Warning, loss) {
		t.Errorf("changes %+v, want the queue's replacement", pending.Changes)
	}
	if after := w.deployed("SQSQueue", "orders"); after != before {
		t.Errorf("AWS was changed before the approval:\n%s\nwas\n%s", after, before)
	}
	w.change("SQSQueue", "orders", fmt.Sprintf(`{"metadata":{"annotations":{"aws-operator/approve":%q}}}`, pending.Digest))
	if made := w.ready("SQSQueue", "orders"); nested(made, "status", "output", "queueName") != "orders.fifo" {
		t.Errorf("the queue's name is %v, want that of the queue that was approved", nested(made, "status", "output", "queueName"))
	}
	w.delete("SQSQueue", "orders") // a deletion needs no approval
	if stacks := w.stacks(); len(stacks) != 0 {
		t.Errorf("stacks %v are left", stacks)
	}
}

// TestApprovalOfAQueue executes exactly the approved change: not a later edit, and not something
// else after the operator was killed.
func TestApprovalOfAQueue(t *testing.T) {
	w := newCountedSuite(t)
	w.apply("{kind: SQSQueue, metadata: {name: jobs}, spec: {updatePolicy: Manual, delaySeconds: 1}}")
	w.ready("SQSQueue", "jobs")
	before := w.deployed("SQSQueue", "jobs")
	w.change("SQSQueue", "jobs", `{"spec":{"delaySeconds":2}}`)
	w.condition("SQSQueue", "jobs", "Synced", "False", "ApprovalNeeded")
	first := w.pending("SQSQueue", "jobs")
	if first.Summary != "Changes Queue in place." || fmt.Sprint(first.Changes[0].Properties) != "[DelaySeconds]" {
		t.Errorf("pending %+v, want the queue's change by its property", first)
	}

	w.stop()
	w.change(
		"SQSQueue",
		"jobs",
		fmt.Sprintf(`{"spec":{"delaySeconds":3},"metadata":{"annotations":{"aws-operator/approve":%q}}}`, first.Digest),
	)
	w.startOperator()
	w.condition("SQSQueue", "jobs", "Synced", "False", "ApprovalStale")
	second := w.pending("SQSQueue", "jobs")
	if second.Digest == first.Digest {
		t.Error("the edit has the digest of what was before")
	}
	if after := w.deployed("SQSQueue", "jobs"); after != before {
		t.Errorf("AWS was changed before the approval:\n%s\nwas\n%s", after, before)
	}
	calls := w.count()
	w.change("SQSQueue", "jobs", fmt.Sprintf(`{"metadata":{"annotations":{"aws-operator/approve":"%s,%s"}}}`, first.Digest, second.Digest))
	w.ready("SQSQueue", "jobs")
	w.delay("jobs", "3")
	if made := calls(); made["UpdateStack"] != 0 || made["ExecuteChangeSet"] != 1 {
		t.Errorf("calls %v, want ExecuteChangeSet", made)
	}
	if obj := w.object("SQSQueue", "jobs"); len(obj.Status.PendingChanges) != 0 {
		t.Errorf("%+v are pending", obj.Status.PendingChanges)
	}

	w.change("SQSQueue", "jobs", `{"spec":{"delaySeconds":4}}`)
	w.condition("SQSQueue", "jobs", "Synced", "False", "ApprovalNeeded") // the approvals are for earlier changes
	w.change("SQSQueue", "jobs", `{"spec":{"updatePolicy":"Automatic"}}`)
	w.delay("jobs", "4")
	w.ready("SQSQueue", "jobs")
}

// TestApprovalOfAUsersKind tests a kind of a ModelDefinition; a retained stack keeps no change set.
func TestApprovalOfAUsersKind(t *testing.T) {
	w := newSuite(t, nil)
	w.apply("{kind: ModelDefinition, metadata: {name: approvedtopics}, spec: {kind: ApprovedTopic, resourceType: 'AWS::SNS::Topic'}}")
	w.condition("ModelDefinition", "approvedtopics", "Ready", "True", "Served")
	w.apply(
		"{kind: ApprovedTopic, metadata: {name: news, annotations: {service-operator.aws/deletion-policy: retain}}, spec: {updatePolicy: Manual, displayName: one}}",
	)
	obj := w.ready("ApprovedTopic", "news")
	name := fmt.Sprint(nested(obj, "status", "stackName"))
	w.change("ApprovedTopic", "news", `{"spec":{"displayName":"two"}}`)
	w.condition("ApprovedTopic", "news", "Synced", "False", "ApprovalNeeded")
	if sets := w.changeSets(name); len(sets) != 1 {
		t.Errorf("change sets %q, want one", sets)
	}
	w.delete("ApprovedTopic", "news")
	if sets := w.changeSets(name); len(sets) != 0 {
		t.Errorf("the retained stack has change sets %q", sets)
	}
}

func (w *suite) object(kind, name string) *v1alpha1.Object {
	w.t.Helper()
	obj, err := w.get(kind, name)
	if err != nil {
		w.t.Fatal(err)
	}
	typed := &v1alpha1.Object{}
	data, err := json.Marshal(obj.Object)
	if err == nil {
		err = json.Unmarshal(data, typed)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return typed
}

// pending returns the only change that waits.
func (w *suite) pending(kind, name string) v1alpha1.PendingChange {
	w.t.Helper()
	obj := w.object(kind, name)
	if len(obj.Status.PendingChanges) != 1 || obj.Status.PendingChanges[0].Stack != obj.Status.StackName {
		w.t.Fatalf("%+v wait, want one change of the object's stack", obj.Status.PendingChanges)
	}
	return obj.Status.PendingChanges[0]
}

// deployed returns everything that an update of the object's stack would change.
func (w *suite) deployed(kind, name string) string {
	w.t.Helper()
	stack := aws.String(w.object(kind, name).Status.StackName)
	c := cloudformation.NewFromConfig(w.awsConfig())
	template, err := c.GetTemplate(w.t.Context(), &cloudformation.GetTemplateInput{StackName: stack})
	if err != nil {
		w.t.Fatal(err)
	}
	stacks, err := c.DescribeStacks(w.t.Context(), &cloudformation.DescribeStacksInput{StackName: stack})
	if err != nil {
		w.t.Fatal(err)
	}
	resources, err := c.DescribeStackResources(w.t.Context(), &cloudformation.DescribeStackResourcesInput{StackName: stack})
	if err != nil {
		w.t.Fatal(err)
	}
	one := stacks.Stacks[0]
	slices.SortFunc(one.Tags, func(a, b types.Tag) int { return strings.Compare(*a.Key, *b.Key) })
	slices.SortFunc(resources.StackResources, func(a, b types.StackResource) int {
		return strings.Compare(*a.LogicalResourceId, *b.LogicalResourceId)
	})
	shown, err := json.Marshal([]any{one.StackStatus, one.LastUpdatedTime, one.Tags, resources.StackResources})
	if err != nil {
		w.t.Fatal(err)
	}
	return string(shown) + aws.ToString(template.TemplateBody)
}

func (w *suite) changeSets(stack string) []string {
	w.t.Helper()
	out, err := cloudformation.NewFromConfig(w.awsConfig()).
		ListChangeSets(w.t.Context(), &cloudformation.ListChangeSetsInput{StackName: aws.String(stack)})
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for i := range out.Summaries {
		names = append(names, aws.ToString(out.Summaries[i].ChangeSetName))
	}
	return names
}
