package controller_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
)

// TestTags gives tags to a stack, whose owner's tags stay, and deletes an object with invalid tags.
func TestTags(t *testing.T) {
	w := newCountedSuite(t)
	w.apply(`
kind: SQSQueue
metadata:
  name: jobs
  annotations: {aws-operator/tags: '{"cost center": "42", team: shop}'}
`)
	obj := w.ready("SQSQueue", "jobs")
	stack := fmt.Sprint(nested(obj, "status", "stackName"))
	api := cloudformation.NewFromConfig(w.awsConfig())
	tags := func() map[string]string {
		out, err := api.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &stack})
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for _, tag := range out.Stacks[0].Tags {
			found[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
		return found
	}
	if got := tags(); got["cost center"] != "42" || got["team"] != "shop" || got["service-operator.aws/name"] != "jobs" {
		t.Errorf("the stack has the tags %v", got)
	}
	calls := w.count()
	w.change("SQSQueue", "jobs", `{"metadata":{"annotations":{"aws-operator/tags":"{team: mail}"}}}`)
	w.eventually("the stack has other tags", func() error {
		if got := tags(); got["team"] != "mail" || got["cost center"] != "" {
			return fmt.Errorf("it has %v", got)
		}
		return nil
	})
	w.ready("SQSQueue", "jobs")
	if got := calls(); got["UpdateStack"]+got["CreateChangeSet"] != 1 {
		t.Errorf("a change of tags cost %v", got)
	}
	w.change("SQSQueue", "jobs", `{"metadata":{"annotations":{"aws-operator/tags":"{service-operator.aws/name: other}"}}}`)
	c := w.condition("SQSQueue", "jobs", "Stalled", "True", "InvalidTags")
	if want := `The annotation aws-operator/tags: the key "service-operator.aws/name" is reserved; use another one.`; c.Message != want {
		t.Errorf("the message is %q, want %q", c.Message, want)
	}
	if got := tags(); got["service-operator.aws/name"] != "jobs" || got["team"] != "mail" {
		t.Errorf("the stack has the tags %v", got)
	}
	w.delete("SQSQueue", "jobs")
	w.eventually("the stack is deleted", func() error {
		if left := w.stacks(); len(left) > 0 {
			return errors.Join(errStill, fmt.Errorf("%v", left))
		}
		return nil
	})
}
