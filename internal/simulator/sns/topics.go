package sns

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const fifoSuffix = ".fifo"

var validName = lazyregexp.New(`^[A-Za-z0-9_-]{1,256}$`)

// topicAttributes are the attributes that a caller may set.
// https://docs.aws.amazon.com/sns/latest/api/API_SetTopicAttributes.html
var topicAttributes = []string{
	"ApplicationFailureFeedbackRoleArn", "ApplicationSuccessFeedbackRoleArn", "ApplicationSuccessFeedbackSampleRate",
	"ArchivePolicy", "ContentBasedDeduplication", "DataProtectionPolicy", "DeliveryPolicy", "DisplayName",
	"FifoThroughputScope", "FifoTopic", "FirehoseFailureFeedbackRoleArn", "FirehoseSuccessFeedbackRoleArn",
	"FirehoseSuccessFeedbackSampleRate", "HTTPFailureFeedbackRoleArn", "HTTPSuccessFeedbackRoleArn",
	"HTTPSuccessFeedbackSampleRate", "KmsMasterKeyId", "LambdaFailureFeedbackRoleArn", "LambdaSuccessFeedbackRoleArn",
	"LambdaSuccessFeedbackSampleRate", "Policy", "SQSFailureFeedbackRoleArn", "SQSSuccessFeedbackRoleArn",
	"SQSSuccessFeedbackSampleRate", "SignatureVersion", "TracingConfig",
}

func checkTopic(name string, attributes map[string]string) error {
	base, suffixed := strings.CutSuffix(name, fifoSuffix)
	fifo := attributes["FifoTopic"] == "true"
	if fifo && !suffixed {
		return invalid(
			"Topic Name Reason: FIFO Topic names must end with .fifo and must be made up of only uppercase and lowercase ASCII letters, numbers, underscores, and hyphens, and must be between 1 and 256 characters long.",
		)
	}
	if !fifo {
		base = name
	}
	if !validName.MatchString(base) || len(name) > 256 {
		return invalid("Topic Name")
	}
	for _, attribute := range slices.Sorted(maps.Keys(attributes)) {
		if err := checkTopicAttribute(attribute, attributes[attribute], fifo); err != nil {
			return err
		}
	}
	return nil
}

func checkTopicAttribute(name, value string, fifo bool) error {
	switch {
	case !slices.Contains(topicAttributes, name):
		return invalid("AttributeName")
	case name == "ContentBasedDeduplication" && !fifo, name == "FifoThroughputScope" && !fifo:
		return invalid("Attributes Reason: %s is only supported for FIFO topics", name)
	case name == "FifoTopic" && value != "true" && value != "false":
		return invalid("Attributes Reason: FifoTopic must be true or false")
	case name == "DisplayName" && len(value) > 100:
		return invalid("DisplayName Reason: Display name must be at most 100 characters long")
	case (name == "Policy" || name == "DeliveryPolicy") && value != "" && !json.Valid([]byte(value)):
		return invalid("%s Reason: failed to parse JSON.", name)
	}
	return nil
}

// tagRules are the errors for tags. The code for too many is documented; no words of
// AWS are on record; those for reserved keys are what other projects expect.
// https://docs.aws.amazon.com/sns/latest/api/API_TagResource.html
var tagRules = tagging.Rules{
	Reserved: tagging.Refusal{
		Code: "InvalidParameter", Message: "Invalid parameter: Tags Reason: aws: prefixed tag key names are not allowed for external use.",
	},
	Key:     tagging.Refusal{Code: "InvalidParameter", Message: "Invalid parameter: Tags Reason: A tag key must have 1 to 128 characters"},
	Value:   tagging.Refusal{Code: "InvalidParameter", Message: "Invalid parameter: Tags Reason: A tag value must have at most 256 characters"},
	TooMany: tagging.Refusal{Code: "TagLimitExceeded", Message: "Could not complete request: tag quota of per resource exceeded"},
}

func tagMap(tags []types.Tag) map[string]string {
	m := map[string]string{}
	for _, t := range tags {
		m[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return m
}

func (s *Service) createTopic(ctx context.Context, in *sns.CreateTopicInput) (*sns.CreateTopicOutput, error) {
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	name := aws.ToString(in.Name)
	tags := tagMap(in.Tags)
	if err := tagRules.Check(nil, tags); err != nil {
		return nil, err
	}
	if t, ok := r.topics[name]; ok {
		for attribute, value := range in.Attributes {
			if t.attributes[attribute] != value {
				return nil, invalid("Attributes Reason: Topic already exists with different attributes")
			}
		}
		if len(tags) > 0 && !maps.Equal(tags, t.tags) {
			return nil, invalid("Tags Reason: Topic already exists with different tags")
		}
		return &sns.CreateTopicOutput{TopicArn: &t.arn}, nil
	}
	t, err := s.create(r, name, in.Attributes, tags)
	if err != nil {
		return nil, err
	}
	return &sns.CreateTopicOutput{TopicArn: &t.arn}, nil
}

// create creates a topic. The caller holds the region's lock.
func (s *Service) create(r *region, name string, attributes, tags map[string]string) (*topic, error) {
	if err := checkTopic(name, attributes); err != nil {
		return nil, err
	}
	t := &topic{
		name: name, arn: r.ARN(s.partition(), "sns", name), fifo: attributes["FifoTopic"] == "true",
		attributes: map[string]string{"DisplayName": ""}, tags: tags, dedups: map[string]published{},
	}
	if t.fifo {
		t.attributes["ContentBasedDeduplication"] = "false"
	}
	t.attributes["Policy"] = defaultPolicy(t.arn, r.Account)
	maps.Copy(t.attributes, attributes)
	r.topics[name] = t
	return t, nil
}

// defaultPolicy returns AWS's default policy, which allows the owner everything.
func defaultPolicy(arn, account string) string {
	return fmt.Sprintf(`{"Version":"2008-10-17","Id":"__default_policy_ID","Statement":[{"Sid":"__default_statement_ID","Effect":"Allow",`+
		`"Principal":{"AWS":"*"},"Action":["SNS:GetTopicAttributes","SNS:SetTopicAttributes","SNS:AddPermission","SNS:RemovePermission",`+
		`"SNS:DeleteTopic","SNS:Subscribe","SNS:ListSubscriptionsByTopic","SNS:Publish"],"Resource":%q,`+
		`"Condition":{"StringEquals":{"AWS:SourceOwner":%q}}}]}`, arn, account)
}

func (s *Service) deleteTopic(ctx context.Context, in *sns.DeleteTopicInput) (*sns.DeleteTopicOutput, error) {
	err := s.withTopic(ctx, in.TopicArn, func(r *region, t *topic) error {
		r.remove(t)
		return nil
	})
	// According to the API reference, deleting a deleted topic succeeds.
	if e := (*wire.Error)(nil); asError(err, &e) && e.Code == "NotFound" {
		err = nil
	}
	return nil, err
}

// remove deletes a topic and its subscriptions. The caller holds the lock.
func (r *region) remove(t *topic) {
	delete(r.topics, t.name)
	for _, sub := range t.subscriptions {
		delete(r.subscriptions, sub.arn)
	}
}

const effectiveDeliveryPolicy = `{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":20,"maxDelayTarget":20,"numRetries":3,` +
	`"numMaxDelayRetries":0,"numNoDelayRetries":0,"numMinDelayRetries":0,"backoffFunction":"linear"},"disableSubscriptionOverrides":false,` +
	`"defaultRequestPolicy":{"headerContentType":"text/plain; charset=UTF-8"}}}`

func (s *Service) getTopicAttributes(ctx context.Context, in *sns.GetTopicAttributesInput) (out *sns.GetTopicAttributesOutput, err error) {
	err = s.withTopic(ctx, in.TopicArn, func(r *region, t *topic) error {
		attributes := maps.Clone(t.attributes)
		pending := 0
		for _, sub := range t.subscriptions {
			if sub.pending {
				pending++
			}
		}
		attributes["TopicArn"] = t.arn
		attributes["Owner"] = r.Account
		attributes["EffectiveDeliveryPolicy"] = effectiveDeliveryPolicy
		attributes["SubscriptionsConfirmed"] = strconv.Itoa(len(t.subscriptions) - pending)
		attributes["SubscriptionsPending"] = strconv.Itoa(pending)
		attributes["SubscriptionsDeleted"] = strconv.Itoa(t.deleted)
		out = &sns.GetTopicAttributesOutput{Attributes: attributes}
		return nil
	})
	return out, err
}

func (s *Service) setTopicAttributes(ctx context.Context, in *sns.SetTopicAttributesInput) (*sns.SetTopicAttributesOutput, error) {
	name := aws.ToString(in.AttributeName)
	return nil, s.withTopic(ctx, in.TopicArn, func(r *region, t *topic) error {
		if name == "FifoTopic" {
			return invalid("AttributeName")
		}
		if err := checkTopicAttribute(name, aws.ToString(in.AttributeValue), t.fifo); err != nil {
			return err
		}
		t.set(r, name, aws.ToString(in.AttributeValue))
		return nil
	})
}

func (t *topic) set(r *region, name, value string) {
	switch {
	case value != "" || name == "DisplayName":
		t.attributes[name] = value
	case name == "Policy":
		t.attributes[name] = defaultPolicy(t.arn, r.Account)
	default:
		delete(t.attributes, name)
	}
}

func (s *Service) listTopics(ctx context.Context, in *sns.ListTopicsInput) (*sns.ListTopicsOutput, error) {
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	names, next := pageSize.Page(keysOf(r.topics), in.NextToken, nil)
	out := &sns.ListTopicsOutput{Topics: []types.Topic{}, NextToken: next}
	for _, name := range names {
		out.Topics = append(out.Topics, types.Topic{TopicArn: &r.topics[name].arn})
	}
	return out, nil
}

// withTags runs fn on the tags of a topic, the only tagged resource.
func (s *Service) withTags(ctx context.Context, arn *string, fn func(map[string]string) error) error {
	err := s.withTopic(ctx, arn, func(_ *region, t *topic) error { return fn(t.tags) })
	if e := (*wire.Error)(nil); asError(err, &e) && e.Code == "NotFound" {
		return &wire.Error{Code: "ResourceNotFound", Message: "Resource does not exist", Status: e.Status}
	}
	return err
}

func (s *Service) tagResource(ctx context.Context, in *sns.TagResourceInput) (*sns.TagResourceOutput, error) {
	return nil, s.withTags(ctx, in.ResourceArn, func(tags map[string]string) error {
		added := tagMap(in.Tags)
		if err := tagRules.Check(tags, added); err != nil {
			return err
		}
		maps.Copy(tags, added)
		return nil
	})
}

func (s *Service) untagResource(ctx context.Context, in *sns.UntagResourceInput) (*sns.UntagResourceOutput, error) {
	return nil, s.withTags(ctx, in.ResourceArn, func(tags map[string]string) error {
		for _, key := range in.TagKeys {
			delete(tags, key)
		}
		return nil
	})
}

func (s *Service) listTagsForResource(ctx context.Context, in *sns.ListTagsForResourceInput) (*sns.ListTagsForResourceOutput, error) {
	out := &sns.ListTagsForResourceOutput{Tags: []types.Tag{}}
	err := s.withTags(ctx, in.ResourceArn, func(tags map[string]string) error {
		for _, key := range slices.Sorted(maps.Keys(tags)) {
			out.Tags = append(out.Tags, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
		}
		return nil
	})
	return out, err
}
