package trial

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

const (
	// objectKey is the object that keeps the bucket from being deleted.
	objectKey = "object"
	// eventLimit is how long an event may take to arrive, and longPoll how long one call waits, in
	// seconds.
	eventLimit = time.Minute
	longPoll   = 5
)

// objects checks conditional writes and deletions, and leaves an object in the bucket.
func (c *centsChecks) objects(ctx context.Context) error {
	bucket, api := aws.String(c.outputs["Bucket"]), c.clients.Objects(awsapi.Target{})
	put := func() (*s3.PutObjectOutput, error) {
		return api.PutObject(ctx, &s3.PutObjectInput{
			Bucket: bucket, Key: aws.String(objectKey), Body: strings.NewReader("content"), IfNoneMatch: aws.String("*"),
		})
	}
	first, err := put()
	if err != nil {
		c.failed("s3-conditional-write", err)
		return nil
	}
	_, err = put()
	c.refused("s3-conditional-write", err, "", "PreconditionFailed")

	listed, err := api.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: bucket})
	if err != nil {
		c.failed("s3-consistent", err)
	} else {
		c.expect("s3-consistent", len(listed.Contents) == 1 && aws.ToString(listed.Contents[0].ETag) == aws.ToString(first.ETag),
			"The object is listed at once: %t.", len(listed.Contents) == 1)
	}
	_, err = api.DeleteObject(ctx, &s3.DeleteObjectInput{
		Bucket: bucket, Key: aws.String(objectKey), IfMatch: aws.String(`"00000000000000000000000000000000"`),
	})
	c.refused("s3-conditional-delete", err, "", "PreconditionFailed")
	return nil
}

// stackEvent is an event of EventBridge about a stack.
type stackEvent struct {
	Source     string `json:"source"`
	DetailType string `json:"detail-type"` //nolint:tagliatelle // EventBridge's name
	Detail     struct {
		StackID string `json:"stack-id"` //nolint:tagliatelle // CloudFormation's name
		Details struct {
			Status string `json:"status"`
		} `json:"status-details"` //nolint:tagliatelle // CloudFormation's name
		Token string `json:"client-request-token"` //nolint:tagliatelle // CloudFormation's name
	} `json:"detail"`
}

// events checks that the rule delivered events of the failed update to the queue.
func (c *centsChecks) events(ctx context.Context) error {
	c.say("Waiting for the stack's events …")
	deadline := c.clock.Now().Add(eventLimit)
	statuses := map[string]bool{}
	for !statuses["UPDATE_ROLLBACK_COMPLETE"] || !statuses["UPDATE_ROLLBACK_IN_PROGRESS"] {
		if c.clock.Now().After(deadline) {
			break
		}
		out, err := c.clients.SQS(awsapi.Target{}).ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: aws.String(c.outputs["Queue"]), MaxNumberOfMessages: 10, WaitTimeSeconds: longPoll, //nolint:mnd // the maximum
		})
		if err != nil {
			c.failed("ev-queue-policy", err)
			return ctx.Err()
		}
		for i := range out.Messages {
			c.event(aws.ToString(out.Messages[i].Body), statuses)
		}
	}
	c.expect("ev-queue-policy", len(statuses) > 0, "Events of %d statuses of the update arrived in the queue.", len(statuses))
	c.expect("ev-pattern-suffix", statuses["UPDATE_ROLLBACK_COMPLETE"] && statuses["UPDATE_ROLLBACK_IN_PROGRESS"],
		"An event that the pattern matches by suffix arrived: %t; one that it matches exactly: %t.",
		statuses["UPDATE_ROLLBACK_COMPLETE"], statuses["UPDATE_ROLLBACK_IN_PROGRESS"])
	if len(statuses) == 0 {
		c.found("ev-stack-status", differed, "No event of the update with the fields that CloudFormation documents arrived.")
	}
	return nil
}

// event reads a message, and records its status if it is an event of the failed update.
func (c *centsChecks) event(body string, statuses map[string]bool) {
	var event stackEvent
	if err := json.Unmarshal([]byte(body), &event); err != nil || event.Detail.Token != failToken {
		return
	}
	complete := event.Source == "aws.cloudformation" && event.DetailType == "CloudFormation Stack Status Change" &&
		event.Detail.StackID == c.id && event.Detail.Details.Status != ""
	c.expect("ev-stack-status", complete, "An event has detail-type %s, status %s and the update's token.",
		event.DetailType, event.Detail.Details.Status)
	statuses[event.Detail.Details.Status] = true
}
