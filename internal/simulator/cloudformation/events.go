package cloudformation

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/uuid"
)

const stackType = "AWS::CloudFormation::Stack"

func newUUID() string { return uuid.NewString() }

// setStatus sets the status of the stack and records the event.
func (s *stack) setStatus(status types.StackStatus, reason string) {
	s.status, s.reason = status, reason
	s.record(types.StackEvent{
		EventId:              aws.String(newUUID()),
		LogicalResourceId:    aws.String(s.name),
		PhysicalResourceId:   aws.String(s.id),
		ResourceType:         aws.String(stackType),
		ResourceStatus:       types.ResourceStatus(status),
		ResourceStatusReason: optional(reason),
	})
}

// setMember sets the status of a resource and records the event.
func (s *stack) setMember(m *member, status types.ResourceStatus, reason string) {
	m.status, m.reason, m.changed = status, reason, s.engine.now()
	now := m.changed.UTC().Format("2006-01-02T15:04:05.000Z")
	event := types.StackEvent{
		EventId:              aws.String(m.id + "-" + string(status) + "-" + now + "-" + fmt.Sprint(len(s.events))),
		LogicalResourceId:    aws.String(m.id),
		PhysicalResourceId:   aws.String(m.physicalID),
		ResourceType:         aws.String(m.kind),
		ResourceStatus:       status,
		ResourceStatusReason: optional(reason),
	}
	if m.properties != nil {
		if m.printed == "" {
			m.printed = compact(m.properties)
		}
		event.ResourceProperties = aws.String(m.printed)
	}
	s.record(event)
}

func (s *stack) record(event types.StackEvent) {
	now := s.engine.now()
	event.StackId, event.StackName = aws.String(s.id), aws.String(s.name)
	event.Timestamp = &now
	event.ClientRequestToken = optional(s.token)
	s.events = append(s.events, event)
	s.outbox = append(s.outbox, event)
}

// flush publishes the recorded events in order, without the stack's lock. Only the goroutine that
// runs the stack calls it.
func (s *stack) flush() {
	s.mu.Lock()
	events := s.outbox
	s.outbox = nil
	var topics []string
	if s.revision != nil {
		topics = s.revision.notificationARNs
	}
	s.mu.Unlock()
	for i := range events {
		s.publish(&events[i])
		s.notify(&events[i], topics)
	}
}

// publish sends an event to EventBridge, with the details of
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/events-detail-reference.html
func (s *stack) publish(event *types.StackEvent) {
	publish := s.engine.options.Publish
	if publish == nil {
		return
	}
	detailType, detail := "CloudFormation Stack Status Change", map[string]any{
		"stack-id": s.id,
		"status-details": map[string]any{
			"status": string(event.ResourceStatus), "status-reason": aws.ToString(event.ResourceStatusReason),
		},
	}
	if token := aws.ToString(event.ClientRequestToken); token != "" {
		detail["client-request-token"] = token
	}
	if aws.ToString(event.PhysicalResourceId) != s.id {
		detailType = "CloudFormation Resource Status Change"
		detail["logical-resource-id"] = aws.ToString(event.LogicalResourceId)
		detail["physical-resource-id"] = aws.ToString(event.PhysicalResourceId)
		detail["resource-type"] = aws.ToString(event.ResourceType)
	}
	publish(s.background(), s.space.Account, s.space.Region, "aws.cloudformation", detailType, []string{s.id}, detail)
}

// notify sends an event to the stack's SNS topics, with one field per line; see notification
// options in
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cfn-console-create-stack.html
func (s *stack) notify(event *types.StackEvent, topics []string) {
	if s.engine.options.Notify == nil || len(topics) == 0 {
		return
	}
	var text strings.Builder
	line := func(name, value string) { fmt.Fprintf(&text, "%s='%s'\n", name, value) }
	token := aws.ToString(event.ClientRequestToken)
	if token == "" {
		token = "null"
	}
	line("StackId", s.id)
	line("Timestamp", event.Timestamp.UTC().Format("2006-01-02T15:04:05.000Z"))
	line("EventId", aws.ToString(event.EventId))
	line("LogicalResourceId", aws.ToString(event.LogicalResourceId))
	line("Namespace", s.space.Account)
	line("PhysicalResourceId", aws.ToString(event.PhysicalResourceId))
	line("ResourceProperties", aws.ToString(event.ResourceProperties))
	line("ResourceStatus", string(event.ResourceStatus))
	line("ResourceStatusReason", aws.ToString(event.ResourceStatusReason))
	line("ResourceType", aws.ToString(event.ResourceType))
	line("StackName", s.name)
	line("ClientRequestToken", token)
	for _, topic := range topics {
		// A deleted topic does not stop the stack.
		_ = s.engine.options.Notify(
			s.background(),
			s.space.Account,
			s.space.Region,
			topic,
			"AWS CloudFormation Notification",
			text.String(),
		)
	}
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func compact(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	return string(data)
}
