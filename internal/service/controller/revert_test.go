package controller_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	v1alpha1 "github.com/aws-operator/aws-operator/api/service/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
)

// revert sets the policy Revert.
func (w *suite) revert(kind, name string) {
	w.t.Helper()
	w.change(kind, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:"Revert"}}}`, v1alpha1.DriftPolicyAnnotation))
}

// jobs makes a queue, and returns functions that change and read its visibility timeout.
func (w *suite) jobs(manifest string) (set, is func(value string)) {
	w.t.Helper()
	w.apply(manifest)
	url := fmt.Sprint(nested(w.ready("SQSQueue", "jobs"), "status", "output", "queueURL"))
	client := sqs.NewFromConfig(w.awsConfig())
	set = func(value string) {
		w.t.Helper()
		if _, err := client.SetQueueAttributes(w.t.Context(), &sqs.SetQueueAttributesInput{
			QueueUrl: &url, Attributes: map[string]string{"VisibilityTimeout": value},
		}); err != nil {
			w.t.Fatal(err)
		}
	}
	is = func(value string) {
		w.t.Helper()
		w.eventually("the visibility timeout is "+value, func() error {
			out, err := client.GetQueueAttributes(w.t.Context(), &sqs.GetQueueAttributesInput{
				QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameVisibilityTimeout},
			})
			if err == nil && out.Attributes["VisibilityTimeout"] != value {
				return fmt.Errorf("it is %s", out.Attributes["VisibilityTimeout"])
			}
			return err
		})
	}
	return set, is
}

func TestDriftByHandIsReverted(t *testing.T) {
	w := newSuite(t, nil)
	set, is := w.jobs("{kind: SQSQueue, metadata: {name: jobs}, spec: {visibilityTimeout: 30}}")
	w.revert("SQSQueue", "jobs")
	set("60")
	w.askDrift("SQSQueue", "jobs")
	is("30")
	w.condition("SQSQueue", "jobs", "Drifted", "False", "InSync")
	w.ready("SQSQueue", "jobs")
}

// TestRevertWaitsForItsApproval: the object stays ready meanwhile.
func TestRevertWaitsForItsApproval(t *testing.T) {
	w := newSuite(t, nil)
	set, is := w.jobs("{kind: SQSQueue, metadata: {name: jobs}, spec: {visibilityTimeout: 30, updatePolicy: Manual}}")
	w.revert("SQSQueue", "jobs")
	set("4711")
	w.askDrift("SQSQueue", "jobs")
	w.condition("SQSQueue", "jobs", "Drifted", "True", "RevertNeedsApproval")
	obj, err := w.get("SQSQueue", "jobs")
	if err != nil {
		t.Fatal(err)
	}
	pending, _ := nested(obj, "status", "pendingChanges").([]any)
	if len(pending) != 1 || strings.Contains(show(pending), "4711") {
		t.Fatalf("pending changes %s", show(pending))
	}
	digest, _ := pending[0].(map[string]any)["digest"].(string)
	if found := findCondition(obj, "Drifted"); !strings.Contains(found.Message, digest) {
		t.Errorf("the message %q lacks the command", found.Message)
	}
	w.condition("SQSQueue", "jobs", "Ready", "True", "")
	is("4711")
	w.change("SQSQueue", "jobs", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, stack.ApproveAnnotation, digest))
	is("30")
	w.condition("SQSQueue", "jobs", "Drifted", "False", "InSync")
}

// TestExceptedDriftIsNeitherReportedNorReverted excepts a property.
func TestExceptedDriftIsNeitherReportedNorReverted(t *testing.T) {
	w := newSuite(t, nil)
	set, is := w.jobs("{kind: SQSQueue, metadata: {name: jobs}, spec: {visibilityTimeout: 30}}")
	w.change("SQSQueue", "jobs", fmt.Sprintf(`{"metadata":{"annotations":{%q:"Queue/VisibilityTimeout"}}}`, v1alpha1.IgnoreDriftAnnotation))
	w.revert("SQSQueue", "jobs")
	set("60")
	w.checkDrift("SQSQueue", "jobs", "False", "InSync")
	is("60")
}

// TestDeletedTableIsNotRecreatedByItself deletes a table by hand.
func TestDeletedTableIsNotRecreatedByItself(t *testing.T) {
	w := newSuite(t, nil)
	tables := dynamodb.NewFromConfig(w.awsConfig())
	w.apply(dynamoTable)
	w.ready("DynamoDB", "dynamo-table")
	w.revert("DynamoDB", "dynamo-table")
	w.eventually("the table is deleted", func() error {
		_, err := tables.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("dynamo-table")})
		return err
	})
	w.eventually("the table is deleted", func() error {
		if _, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("dynamo-table")}); err == nil {
			return errors.New("it exists")
		}
		return nil
	})
	w.askDrift("DynamoDB", "dynamo-table")
	w.condition("DynamoDB", "dynamo-table", "Drifted", "True", "NotReverted")
	obj, err := w.get("DynamoDB", "dynamo-table")
	if err != nil {
		t.Fatal(err)
	}
	if found := findCondition(obj, "Drifted"); !strings.Contains(found.Message, v1alpha1.AllowAnnotation+": replace") {
		t.Errorf("the message %q lacks the remedy", found.Message)
	}
	w.change("DynamoDB", "dynamo-table", fmt.Sprintf(`{"metadata":{"annotations":{%q:"replace"}}}`, v1alpha1.AllowAnnotation))
	w.eventually("the table exists again", func() error {
		_, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("dynamo-table")})
		return err
	})
	w.condition("DynamoDB", "dynamo-table", "Drifted", "False", "InSync")
}
