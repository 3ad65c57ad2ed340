package awsevents

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
)

const (
	cloudFormationSource = "aws.cloudformation"
	// stackStatusChange is the detail type of a stack's own events. "CloudFormation Resource Status
	// Change" is the detail type of its resources' events, which do not report the stack's status.
	stackStatusChange = "CloudFormation Stack Status Change"
)

// Event is one event from EventBridge, or one difference that a sweep found.
type Event struct {
	// ID is EventBridge's identifier of the event; empty for a difference that a sweep found.
	ID string
	// Source and DetailType identify the kind of event, for example "aws.cloudformation".
	Source, DetailType string
	// Account and Region are those of the event.
	Account, Region string
	// Time is the time of the event.
	Time time.Time
	// Stack is set for status changes of stacks.
	Stack *stack.Event
	// Instance is set for events of instances.
	Instance *InstanceEvent
	// Raw is the event as received; nil for a sweep.
	Raw json.RawMessage
}

// envelope contains the fields that all events of EventBridge have:
// https://docs.aws.amazon.com/eventbridge/latest/ref/overiew-event-structure.html
type envelope struct {
	ID         string          `json:"id"`
	Source     string          `json:"source"`
	DetailType string          `json:"detail-type"` //nolint:tagliatelle // EventBridge's name
	Account    string          `json:"account"`
	Region     string          `json:"region"`
	Time       time.Time       `json:"time"`
	Detail     json.RawMessage `json:"detail"`
}

// stackDetail is the detail of a stack status change:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/event-detail-stack-status-change.html
type stackDetail struct {
	StackID string `json:"stack-id"` //nolint:tagliatelle // CloudFormation's name
	Details struct {
		Status string `json:"status"`
		Reason string `json:"status-reason"` //nolint:tagliatelle // CloudFormation's name
	} `json:"status-details"` //nolint:tagliatelle // CloudFormation's name
	Token string `json:"client-request-token"` //nolint:tagliatelle // CloudFormation's name
}

// parseEvent parses a message of the queue. It returns an error if the message is not an event.
func parseEvent(target awsapi.Target, body string) (Event, error) {
	var outer envelope
	if err := json.Unmarshal([]byte(body), &outer); err != nil {
		return Event{}, fmt.Errorf("parse an event: %w", err)
	}
	if outer.Source == "" || outer.DetailType == "" {
		return Event{}, errors.New("parse an event: it has no source or no detail-type")
	}
	event := Event{
		ID: outer.ID, Source: outer.Source, DetailType: outer.DetailType, Account: outer.Account, Region: outer.Region,
		Time: outer.Time, Raw: json.RawMessage(body),
	}
	if outer.Source != cloudFormationSource || outer.DetailType != stackStatusChange {
		var err error
		event.Instance, err = instanceEvent(&outer)
		return event, err
	}
	var detail stackDetail
	if err := json.Unmarshal(outer.Detail, &detail); err != nil {
		return Event{}, fmt.Errorf("parse the detail of a stack's event: %w", err)
	}
	if detail.StackID == "" || detail.Details.Status == "" {
		return Event{}, errors.New("parse the detail of a stack's event: it has no stack-id or no status")
	}
	event.Stack = &stack.Event{
		Target: target, StackID: detail.StackID, StackName: stackName(detail.StackID),
		Status: detail.Details.Status, Reason: detail.Details.Reason, Token: detail.Token, Time: outer.Time,
	}
	return event, nil
}

// stackName returns the name in a stack's ARN:
// arn:aws:cloudformation:region:account:stack/NAME/unique.
func stackName(id string) string {
	if parts := strings.Split(id, "/"); len(parts) == 3 {
		return parts[1]
	}
	return id
}

// swept converts a difference that a sweep found to an event.
func swept(found stack.Event, now time.Time) Event {
	at := placeOfStack(found.StackID)
	return Event{
		Source: cloudFormationSource, DetailType: stackStatusChange, Time: now, Stack: &found, Account: at.Account, Region: at.Region,
	}
}

// placeOfStack returns the account and region in a stack's ARN.
func placeOfStack(id string) awsapi.Place {
	parsed, err := arn.Parse(id)
	if err != nil {
		return awsapi.Place{}
	}
	return awsapi.Place{Account: parsed.AccountID, Region: parsed.Region}
}
