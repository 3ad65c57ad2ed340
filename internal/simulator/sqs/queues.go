package sqs

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

func (s *Service) createQueue(ctx context.Context, in *sqs.CreateQueueInput) (*sqs.CreateQueueOutput, error) {
	if aws.ToString(in.QueueName) == "" {
		return nil, missing("QueueName")
	}
	if err := tagRules.Check(nil, in.Tags); err != nil {
		return nil, err
	}
	r := s.regions.At(wire.TargetFrom(ctx))
	q, err := s.create(r, *in.QueueName, in.Attributes, in.Tags)
	if err != nil {
		return nil, err
	}
	return &sqs.CreateQueueOutput{QueueUrl: aws.String(s.url(ctx, r, q.name))}, nil
}

// create creates a queue, or returns the one with the same name and attributes.
func (s *Service) create(r *region, name string, attributes, tags map[string]string) (*queue, error) {
	fifo := attributes["FifoQueue"] == "true"
	if err := s.checkAttributes(attributes, fifo); err != nil {
		return nil, err
	}
	if err := checkName(name, fifo); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if q, ok := r.queues[name]; ok {
		return q, q.sameAs(attributes)
	}
	now := s.env.Clock.Now()
	if at, ok := r.deleted[name]; ok && now.Before(at.Add(s.release)) {
		return nil, wire.Errorf(
			"QueueDeletedRecently", "You must wait 60 seconds after deleting a queue before you can create another with the same name.",
		)
	}
	delete(r.deleted, name)
	q := newQueue(name, r.ARN(s.partition(), "sqs", name), fifo, now)
	q.attributes = defaults(fifo)
	maps.Copy(q.tags, tags)
	q.set(attributes, now)
	r.queues[name] = q
	return q, nil
}

// sameAs returns an error if an attribute of a request differs from the queue's.
func (q *queue) sameAs(attributes map[string]string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if q.attributes[name] != attributes[name] {
			return wire.Errorf("QueueNameExists", "A queue already exists with the same name and a different value for attribute %s", name)
		}
	}
	return nil
}

func (s *Service) deleteQueue(ctx context.Context, in *sqs.DeleteQueueInput) (*sqs.DeleteQueueOutput, error) {
	r, q, err := s.find(ctx, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	r.remove(q, s.env.Clock.Now())
	return nil, nil
}

func (r *region) remove(q *queue, now time.Time) {
	r.mu.Lock()
	delete(r.queues, q.name)
	r.deleted[q.name] = now
	r.mu.Unlock()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.deleted = true
	q.notify()
}

func (s *Service) getQueueURL(ctx context.Context, in *sqs.GetQueueUrlInput) (*sqs.GetQueueUrlOutput, error) {
	if aws.ToString(in.QueueName) == "" {
		return nil, missing("QueueName")
	}
	where := wire.TargetFrom(ctx)
	if owner := aws.ToString(in.QueueOwnerAWSAccountId); owner != "" {
		where.Account = owner
	}
	r := s.regions.At(where)
	if r.queue(*in.QueueName) == nil {
		return nil, nonExistent()
	}
	return &sqs.GetQueueUrlOutput{QueueUrl: aws.String(s.url(ctx, r, *in.QueueName))}, nil
}

func (s *Service) listQueues(ctx context.Context, in *sqs.ListQueuesInput) (*sqs.ListQueuesOutput, error) {
	r := s.regions.At(wire.TargetFrom(ctx))
	prefix := aws.ToString(in.QueueNamePrefix)
	names := slices.DeleteFunc(r.names(), func(name string) bool { return !strings.HasPrefix(name, prefix) })
	names, next, err := page(names, in.NextToken, in.MaxResults)
	if err != nil {
		return nil, err
	}
	return &sqs.ListQueuesOutput{QueueUrls: s.urls(ctx, r, names), NextToken: next}, nil
}

func (s *Service) urls(ctx context.Context, r *region, names []string) []string {
	var urls []string
	for _, name := range names {
		urls = append(urls, s.url(ctx, r, name))
	}
	return urls
}

// page returns a page of names.
func page(names []string, token *string, most *int32) (cut []string, next *string, err error) {
	if most != nil && (*most < 1 || *most > 1000) {
		return nil, nil, invalidValue(*most, "MaxResults", "Must be between 1 and 1000, if provided.")
	}
	last, err := base64.RawURLEncoding.DecodeString(aws.ToString(token))
	if err != nil {
		return nil, nil, wire.Errorf("InvalidParameterValue", "Invalid or expired next token.")
	}
	cut, next = wire.PageSize{Standard: 1000, Most: 1000}.Page(names, aws.String(string(last)), most)
	if next == nil || most == nil { // without MaxResults AWS returns the first 1,000 and no token
		return cut, nil, nil
	}
	return cut, aws.String(base64.RawURLEncoding.EncodeToString([]byte(*next))), nil
}

func (s *Service) getQueueAttributes(ctx context.Context, in *sqs.GetQueueAttributesInput) (*sqs.GetQueueAttributesOutput, error) {
	_, q, err := s.find(ctx, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(in.AttributeNames))
	for i, name := range in.AttributeNames {
		names[i] = string(name)
		if !slices.Contains(name.Values(), name) {
			return nil, wire.Errorf("InvalidAttributeName", "Unknown Attribute %s.", name)
		}
	}
	attributes := q.describe(names, s.env.Clock.Now())
	if len(attributes) == 0 {
		return nil, nil
	}
	return &sqs.GetQueueAttributesOutput{Attributes: attributes}, nil
}

func (s *Service) setQueueAttributes(ctx context.Context, in *sqs.SetQueueAttributesInput) (*sqs.SetQueueAttributesOutput, error) {
	_, q, err := s.find(ctx, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	return nil, s.change(q, in.Attributes)
}

func (s *Service) change(q *queue, attributes map[string]string) error {
	if _, ok := attributes["FifoQueue"]; ok && q.fifo {
		attributes = maps.Clone(attributes)
		delete(attributes, "FifoQueue")
	}
	if err := s.checkAttributes(attributes, q.fifo); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.set(attributes, s.env.Clock.Now())
	return nil
}

func (s *Service) purgeQueue(ctx context.Context, in *sqs.PurgeQueueInput) (*sqs.PurgeQueueOutput, error) {
	_, q, err := s.find(ctx, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := s.env.Clock.Now()
	if !q.purged.IsZero() && now.Sub(q.purged) < time.Minute {
		return nil, wire.Errorf("PurgeQueueInProgress", "Only one PurgeQueue operation on %s is allowed every 60 seconds.", q.name).
			WithStatus(403)
	}
	q.purge(now)
	return nil, nil
}

func (s *Service) listDeadLetterSourceQueues(
	ctx context.Context, in *sqs.ListDeadLetterSourceQueuesInput,
) (*sqs.ListDeadLetterSourceQueuesOutput, error) {
	r, dlq, err := s.find(ctx, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range r.names() {
		if q := r.queue(name); q != nil && q.deadLetters() == dlq.arn {
			names = append(names, name)
		}
	}
	names, next, err := page(names, in.NextToken, in.MaxResults)
	if err != nil {
		return nil, err
	}
	urls := s.urls(ctx, r, names)
	if urls == nil {
		urls = []string{}
	}
	return &sqs.ListDeadLetterSourceQueuesOutput{QueueUrls: urls, NextToken: next}, nil
}

func (q *queue) deadLetters() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dlq
}

func (s *Service) listQueueTags(ctx context.Context, in *sqs.ListQueueTagsInput) (*sqs.ListQueueTagsOutput, error) {
	_, q, err := s.find(ctx, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.tags) == 0 {
		return nil, nil
	}
	return &sqs.ListQueueTagsOutput{Tags: maps.Clone(q.tags)}, nil
}

// tagRules are the errors for tags; no words of AWS are on record. According to the API reference,
// more than 50 tags are "not recommended".
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-queues.html
var tagRules = tagging.Rules{
	Reserved: tagging.Refusal{Code: "InvalidParameterValue", Message: "Tag keys starting with 'aws:' are reserved for system use."},
	Key:      tagging.Refusal{Code: "InvalidParameterValue", Message: "Tag keys must be between 1 and 128 characters in length."},
	Value:    tagging.Refusal{Code: "InvalidParameterValue", Message: "Tag values must be between 0 and 256 characters in length."},
	TooMany:  tagging.Refusal{Code: "InvalidParameterValue", Message: "Too many tags added for queue."},
}

func (s *Service) tagQueue(ctx context.Context, in *sqs.TagQueueInput) (*sqs.TagQueueOutput, error) {
	_, q, err := s.find(ctx, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := tagRules.Check(q.tags, in.Tags); err != nil {
		return nil, err
	}
	maps.Copy(q.tags, in.Tags)
	return nil, nil
}

func (s *Service) untagQueue(ctx context.Context, in *sqs.UntagQueueInput) (*sqs.UntagQueueOutput, error) {
	_, q, err := s.find(ctx, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, key := range in.TagKeys {
		delete(q.tags, key)
	}
	return nil, nil
}

// policy is the part of a queue's policy that permissions change.
type policy struct {
	Version   string           `json:"Version"`
	ID        string           `json:"Id"`
	Statement []map[string]any `json:"Statement"`
}

func (s *Service) addPermission(ctx context.Context, in *sqs.AddPermissionInput) (*sqs.AddPermissionOutput, error) {
	_, q, err := s.find(ctx, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	if aws.ToString(in.Label) == "" {
		return nil, missing("Label")
	}
	return nil, s.editPolicy(q, func(p *policy) error {
		for _, statement := range p.Statement {
			if statement["Sid"] == *in.Label {
				return invalidValue(*in.Label, "Label", "Already exists.")
			}
		}
		var who, what []string
		for _, account := range in.AWSAccountIds {
			who = append(who, fmt.Sprintf("arn:%s:iam::%s:root", s.partition(), account))
		}
		for _, action := range in.Actions {
			what = append(what, "SQS:"+action)
		}
		p.Statement = append(p.Statement, map[string]any{
			"Sid": *in.Label, "Effect": "Allow", "Principal": map[string]any{"AWS": who}, "Action": what, "Resource": q.arn,
		})
		return nil
	})
}

func (s *Service) removePermission(ctx context.Context, in *sqs.RemovePermissionInput) (*sqs.RemovePermissionOutput, error) {
	_, q, err := s.find(ctx, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	label := aws.ToString(in.Label)
	return nil, s.editPolicy(q, func(p *policy) error {
		before := len(p.Statement)
		p.Statement = slices.DeleteFunc(p.Statement, func(st map[string]any) bool { return st["Sid"] == label })
		if len(p.Statement) == before {
			return invalidValue(label, "Label", "can't find label on existing policy.")
		}
		return nil
	})
}

func (s *Service) editPolicy(q *queue, edit func(*policy) error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := policy{Version: "2012-10-17", ID: q.arn + "/SQSDefaultPolicy"}
	if text := q.attributes["Policy"]; text != "" {
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return wire.Errorf("InvalidAttributeValue", "Invalid value for the parameter Policy.")
		}
	}
	if err := edit(&p); err != nil {
		return err
	}
	text := ""
	if len(p.Statement) > 0 {
		encoded, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("encoding the policy: %w", err)
		}
		text = string(encoded)
	}
	q.set(map[string]string{"Policy": text}, s.env.Clock.Now())
	return nil
}
