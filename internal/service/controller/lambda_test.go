package controller_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/simulator"
)

const functionType = "AWS::Lambda::Function"

// TestLambda follows a function through its lifecycle, with IAM enforced: it runs with a role of its own,
// to which a queue grants access before and after the function exists.
func TestLambda(t *testing.T) {
	w := newGrantsSuite(t)
	w.apply(`
{kind: S3Bucket, metadata: {name: code}}
---
{kind: SQSQueue, metadata: {name: jobs}, spec: {visibilityTimeout: 180}}
---
{kind: SQSQueue, metadata: {name: undelivered}}
---
{kind: SQSQueue, metadata: {name: results}, spec: {objectGrants: [{kind: Lambda, name: resize, access: Send}]}}
`)
	results := w.ready("SQSQueue", "results") // it does not wait for the function
	w.apply(`
kind: Lambda
metadata: {name: resize}
spec:
  code: {bucketName: code, key: resize.zip}
  runtime: python3.13
  handler: app.handler
  timeoutSeconds: 30
  environment: {MODE: fast}
  queueTrigger: {queueName: jobs}
  deadLetterQueueName: undelivered
`)
	obj := w.ready("Lambda", "resize")
	role := fmt.Sprint(nested(obj, "status", "output", "roleARN"))
	if !strings.HasPrefix(role, "arn:aws:iam::"+account+":role/aws-operator/"+clusterName+"/") {
		t.Errorf("the role is %s, which policies of the operator cannot name by its path", role)
	}
	want := fmt.Sprintf("[map[kind:Lambda name:resize roleARN:%s]]", role)
	if got := show(nested(results, "status", "grants")); got != want {
		t.Errorf("status.grants of the queue is %s, want %s", got, want)
	}
	live := w.live(functionType, "resize")
	if live["Role"] != role || fmt.Sprint(live["Code"]) != "map[S3Bucket:code S3Key:resize.zip]" {
		t.Errorf("the function has the properties %v", live)
	}
	mayUse := func(wanted ...string) {
		t.Helper()
		policies := w.inlinePolicies(role)
		var queues []string
		for _, match := range regexp.MustCompile(`"arn:aws:sqs:eu-west-1:123456789012:([^"]+)"`).FindAllStringSubmatch(policies, -1) {
			queues = append(queues, match[1])
		}
		queues = slices.Compact(slices.Sorted(slices.Values(queues)))
		if !slices.Equal(queues, wanted) || strings.Contains(policies, `"*"`) {
			t.Errorf("the policies of the role are %s, want the queues %v and nothing for all resources", policies, wanted)
		}
	}
	mayUse("jobs", "results", "undelivered")
	data, err := w.configMap("resize")
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]string{
		"functionName": "resize", "functionARN": "arn:aws:lambda:eu-west-1:123456789012:function:resize", "logGroupName": "/aws/lambda/resize", "region": region,
	}
	if diff := cmp.Diff(made, data); diff != "" {
		t.Errorf("the ConfigMap differs (-want +got):\n%s", diff)
	}
	w.change("Lambda", "resize", `{"spec":{"memoryMiB":256,"deadLetterQueueName":null}}`)
	w.becomes(functionType, "resize", "MemorySize", 256)
	w.ready("Lambda", "resize")
	mayUse("jobs", "results")

	w.delete("Lambda", "resize")
	if left := w.rolesLeft(); len(left) != 1 {
		t.Errorf("the roles are %v; the queue grants access to one", left)
	}
	mayUse("results")
	w.change("SQSQueue", "results", `{"spec":{"objectGrants":null}}`)
	w.eventually("the role is deleted", func() error {
		if left := w.rolesLeft(); len(left) > 0 {
			return errors.New(strings.Join(left, ", "))
		}
		return nil
	})
	if live := w.live(functionType, "resize"); live != nil {
		t.Errorf("the function is left: %v", live)
	}
}

// TestLambdaNeedsThatTheOperatorMayMakeRoles tests an operator without the flag that allows roles.
func TestLambdaNeedsThatTheOperatorMayMakeRoles(t *testing.T) {
	w := newSuite(t, nil)
	w.apply(`{kind: Lambda, metadata: {name: resize}, spec: {code: {bucket: builds, key: a.zip}, runtime: python3.13, handler: a.b}}`)
	w.condition("Lambda", "resize", "Stalled", "True", "ForeignResource")
	w.apply(`
{kind: ECRRepository, metadata: {name: images}}
---
{kind: Lambda, metadata: {name: report}, spec: {image: {repositoryName: images, tag: "1"}}}
`)
	c := w.condition("Lambda", "report", "Stalled", "True", "IssuerNotConfigured")
	if !strings.Contains(c.Message, "--service-account-issuer") || !strings.Contains(c.Message, "role of its own") {
		t.Errorf("the message is %q", c.Message)
	}
	if len(w.stacks()) != 1 {
		t.Errorf("the stacks are %v, want that of the repository", w.stacks())
	}
	w.delete("Lambda", "report")
	w.delete("Lambda", "resize")
}

// TestGrantsToObjectsWithoutRole tests grants to objects of kinds that have no roles or do not exist.
func TestGrantsToObjectsWithoutRole(t *testing.T) {
	w := newGrantsSuite(t)
	w.apply(`
{kind: SQSQueue, metadata: {name: a}, spec: {objectGrants: [{kind: SNSTopic, name: b, access: Send}]}}
---
{kind: SQSQueue, metadata: {name: b}, spec: {objectGrants: [{kind: Nothing, name: b, access: Send}]}}
`)
	if c := w.condition("SQSQueue", "a", "Stalled", "True", "InvalidGrant"); !strings.Contains(c.Message, "SNSTopic b") {
		t.Errorf("the message is %q", c.Message)
	}
	if c := w.condition("SQSQueue", "b", "Ready", "False", "KindNotServed"); !strings.Contains(c.Message, "Nothing b") {
		t.Errorf("the message is %q", c.Message)
	}
	if roles := w.rolesLeft(); len(roles) > 0 {
		t.Errorf("there are the roles %v", roles)
	}
	w.delete("SQSQueue", "a")
	w.delete("SQSQueue", "b")
}

// TestQueueOfAnOutputIsNotReceived tests a queue whose author chose its outputs: the function's role may
// receive only from the queue in the stack.
func TestQueueOfAnOutputIsNotReceived(t *testing.T) {
	w := prepareSuite(t, simulator.Options{}, render.Limits{TemplateTypes: []string{"AWS::SQS::Queue", "AWS::SNS::Topic"}})
	w.serveGrants()
	w.apply(`
kind: CloudFormationTemplate
metadata: {name: liar}
data:
  template: |
    Resources: {Own: {Type: AWS::SQS::Queue}}
    Outputs:
      QueueURL: {Value: !Ref Own}
      QueueARN: {Value: "arn:aws:sqs:eu-west-1:123456789012:of-another-tenant"}
      QueueName: {Value: of-another-tenant}
---
{kind: SQSQueue, metadata: {name: jobs}, spec: {cloudFormationTemplateName: liar}}
---
{kind: ECRRepository, metadata: {name: images}}
---
{kind: Lambda, metadata: {name: report}, spec: {image: {repositoryName: images, tag: "1"}, queueTrigger: {queueName: jobs}}}
`)
	role := fmt.Sprint(nested(w.ready("Lambda", "report"), "status", "output", "roleARN"))
	w.apply(`
kind: CloudFormationTemplate
metadata: {name: other-type}
data:
  template: |
    Resources: {Own: {Type: AWS::SNS::Topic, Properties: {TopicName: of-another-tenant}}}
    Outputs:
      QueueURL: {Value: !Ref Own}
---
{kind: SQSQueue, metadata: {name: topic}, spec: {cloudFormationTemplateName: other-type}}
---
{kind: Lambda, metadata: {name: other}, spec: {image: {repositoryName: images, tag: "1"}, queueTrigger: {queueName: topic}}}
`)
	if c := w.condition("Lambda", "other", "Stalled", "True", "ReferenceNotOwned"); !strings.Contains(c.Message, "not an AWS::SQS::Queue of its stack") {
		t.Errorf("the message is %q", c.Message)
	}
	if policies := w.inlinePolicies(role); strings.Contains(policies, "of-another-tenant") || !strings.Contains(policies, "sqs:ReceiveMessage") {
		t.Errorf("the policies of the role are %s", policies)
	}
}

// TestStepFunction follows a state machine through its lifecycle, with IAM enforced: a function grants it
// access, and it takes the function's ARN.
func TestStepFunction(t *testing.T) {
	w := newGrantsSuite(t)
	w.apply(`
{kind: ECRRepository, metadata: {name: images}}
---
kind: Lambda
metadata: {name: invoices}
spec: {image: {repositoryName: images, tag: "1"}, objectGrants: [{kind: StepFunction, name: flow, access: Invoke}]}
---
kind: StepFunction
metadata: {name: flow}
spec:
  definition: '{"StartAt": "Call", "States": {"Call": {"Type": "Task", "Resource": "${FUNCTION}", "End": true}}}'
  valuesFrom: [{field: substitutions.FUNCTION, valueFrom: {kind: Lambda, name: invoices, output: functionARN}}]
`)
	const arn, machineType = "arn:aws:states:eu-west-1:123456789012:stateMachine:flow", "AWS::StepFunctions::StateMachine"
	obj := w.ready("StepFunction", "flow")
	role := fmt.Sprint(nested(obj, "status", "output", "roleARN"))
	live := w.live(machineType, arn)
	if live["RoleArn"] != role || fmt.Sprint(live["DefinitionSubstitutions"]) != "map[FUNCTION:arn:aws:lambda:eu-west-1:123456789012:function:invoices]" {
		t.Errorf("the state machine has the properties %v, the role is %s", live, role)
	}
	policies := w.inlinePolicies(role)
	if !strings.Contains(policies, "lambda:InvokeFunction") || strings.Count(policies, `"Effect"`) != 1 {
		t.Errorf("the policies of the role are %s, want the permission to call the function only", policies)
	}
	data, err := w.configMap("flow")
	if err != nil || data["stateMachineARN"] != arn || data["stateMachineName"] != "flow" {
		t.Errorf("the ConfigMap holds %v, %v", data, err)
	}
	w.delete("StepFunction", "flow")
	w.delete("Lambda", "invoices")
	if live, roles := w.live(machineType, arn), w.rolesLeft(); live != nil || len(roles) > 0 {
		t.Errorf("the state machine %v and the roles %v are left", live, roles)
	}
}
