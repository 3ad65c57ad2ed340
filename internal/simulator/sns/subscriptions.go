package sns

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/mail"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/google/uuid"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/simulator/pattern"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

func asError(err error, e **wire.Error) bool { return errors.As(err, e) }

// subscription is one endpoint's subscription to a topic.
type subscription struct {
	arn, owner, protocol, endpoint string
	topic                          *topic
	attributes                     map[string]string
	filter                         *pattern.Pattern
	pending                        bool
	token                          string
}

// pendingARN is the ARN of an unconfirmed subscription in lists.
const pendingARN = "PendingConfirmation"

var (
	phone             = lazyregexp.New(`^\+?[0-9 ()-]{5,20}$`)
	subscriptionNames = []string{
		"DeliveryPolicy",
		"FilterPolicy",
		"FilterPolicyScope",
		"RawMessageDelivery",
		"RedrivePolicy",
		"SubscriptionRoleArn",
		"ReplayPolicy",
	}
)

// checkEndpoint validates an endpoint for its protocol.
// https://docs.aws.amazon.com/sns/latest/api/API_Subscribe.html
func checkEndpoint(t *topic, protocol, endpoint string) error {
	valid := true
	switch protocol {
	case "http", "https":
		if !strings.HasPrefix(endpoint, protocol+"://") {
			return invalid("Endpoint must match the specified protocol")
		}
	case "email", "email-json":
		_, err := mail.ParseAddress(endpoint)
		if err != nil {
			return invalid("Email address")
		}
	case "sms":
		valid = phone.MatchString(endpoint)
	case "sqs", "lambda", "firehose":
		if parts := strings.Split(endpoint, ":"); len(parts) < 6 || parts[0] != "arn" || parts[2] != protocol {
			return invalid("%s endpoint ARN", map[string]string{"sqs": "SQS", "lambda": "Lambda", "firehose": "Firehose"}[protocol])
		}
		if protocol == "sqs" && strings.HasSuffix(endpoint, fifoSuffix) && !t.fifo {
			return invalid("Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics")
		}
	case "application":
		valid = strings.HasPrefix(endpoint, "arn:")
	default:
		return invalid("Amazon SNS does not support this protocol string: %s", protocol)
	}
	if !valid {
		return invalid("Endpoint")
	}
	if t.fifo && protocol != "sqs" {
		return invalid("Invalid parameter: Endpoint Reason: Please use FIFO SQS queue")
	}
	return nil
}

func (s *Service) subscribe(ctx context.Context, in *sns.SubscribeInput) (*sns.SubscribeOutput, error) {
	var sub *subscription
	err := s.withTopic(ctx, in.TopicArn, func(r *region, t *topic) (err error) {
		sub, err = s.add(r, t, aws.ToString(in.Protocol), aws.ToString(in.Endpoint), in.Attributes)
		return err
	})
	if err != nil {
		return nil, err
	}
	arn := sub.arn
	if sub.pending {
		s.askToConfirm(ctx, sub)
		if !in.ReturnSubscriptionArn {
			arn = "pending confirmation"
		}
	}
	return &sns.SubscribeOutput{SubscriptionArn: &arn}, nil
}

// add creates a subscription, or returns the existing one of the endpoint. The caller holds the
// lock.
func (s *Service) add(r *region, t *topic, protocol, endpoint string, attributes map[string]string) (*subscription, error) {
	if err := checkEndpoint(t, protocol, endpoint); err != nil {
		return nil, err
	}
	for _, sub := range t.subscriptions {
		if sub.protocol != protocol || sub.endpoint != endpoint {
			continue
		}
		for name, value := range attributes {
			if sub.attributes[name] != value {
				return nil, invalid("Attributes Reason: Subscription already exists with different attributes")
			}
		}
		return sub, nil
	}
	sub := &subscription{
		arn: t.arn + ":" + uuid.NewString(), owner: r.Account, protocol: protocol, endpoint: endpoint, topic: t,
		attributes: map[string]string{"RawMessageDelivery": "false"},
		pending:    slices.Contains([]string{"http", "https", "email", "email-json"}, protocol),
	}
	if sub.pending {
		sub.token = strings.ReplaceAll(uuid.NewString()+uuid.NewString(), "-", "")
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if err := sub.set(name, attributes[name]); err != nil {
			return nil, err
		}
	}
	t.subscriptions = append(t.subscriptions, sub)
	r.subscriptions[sub.arn] = sub
	return sub, nil
}

// set changes one attribute.
// https://docs.aws.amazon.com/sns/latest/api/API_SetSubscriptionAttributes.html
func (sub *subscription) set(name, value string) error {
	if !slices.Contains(subscriptionNames, name) {
		return invalid("AttributeName")
	}
	switch name {
	case "RawMessageDelivery":
		if value != "true" && value != "false" {
			return invalid("Attributes Reason: RawMessageDelivery: Invalid value [%s]. Must be true or false.", value)
		}
	case "FilterPolicyScope":
		if value != "MessageAttributes" && value != "MessageBody" {
			return invalid(
				"Attributes Reason: FilterPolicyScope: Invalid value [%s]. Please use either MessageBody or MessageAttributes", value,
			)
		}
	case "FilterPolicy":
		if err := sub.setFilter(value); err != nil {
			return err
		}
	default:
		if value != "" && name != "SubscriptionRoleArn" && !json.Valid([]byte(value)) {
			return invalid("Attributes Reason: %s: failed to parse JSON.", name)
		}
	}
	if value == "" || name == "FilterPolicy" && value == "{}" {
		delete(sub.attributes, name)
		return nil
	}
	sub.attributes[name] = value
	return nil
}

func (sub *subscription) setFilter(value string) error {
	sub.filter = nil
	if value == "" || value == "{}" {
		return nil
	}
	filter, err := pattern.Parse(value)
	if err != nil {
		return invalid("Attributes Reason: FilterPolicy: %s", err)
	}
	sub.filter = filter
	if sub.attributes["FilterPolicyScope"] == "" {
		sub.attributes["FilterPolicyScope"] = "MessageAttributes"
	}
	return nil
}

func (s *Service) confirmSubscription(
	ctx context.Context, in *sns.ConfirmSubscriptionInput,
) (out *sns.ConfirmSubscriptionOutput, err error) {
	err = s.withTopic(ctx, in.TopicArn, func(_ *region, t *topic) error {
		for _, sub := range t.subscriptions {
			if sub.token != "" && sub.token == aws.ToString(in.Token) {
				sub.pending = false
				out = &sns.ConfirmSubscriptionOutput{SubscriptionArn: &sub.arn}
				return nil
			}
		}
		return invalid("Token")
	})
	return out, err
}

// Token returns the token that confirms a pending subscription, which AWS would mail or post to the
// endpoint. It reports false if there is none.
func (s *Service) Token(subscriptionARN string) (token string, ok bool) {
	err := s.withSubscription(&subscriptionARN, func(_ *region, sub *subscription) error {
		token, ok = sub.token, sub.pending
		return nil
	})
	return token, ok && err == nil
}

func (s *Service) unsubscribe(_ context.Context, in *sns.UnsubscribeInput) (*sns.UnsubscribeOutput, error) {
	err := s.withSubscription(in.SubscriptionArn, func(r *region, sub *subscription) error {
		r.drop(sub)
		return nil
	})
	if e := (*wire.Error)(nil); asError(err, &e) && e.Code == "NotFound" {
		return nil, nil
	}
	return nil, err
}

// drop removes a subscription. The caller holds the lock.
func (r *region) drop(sub *subscription) {
	delete(r.subscriptions, sub.arn)
	sub.topic.deleted++
	sub.topic.subscriptions = slices.DeleteFunc(sub.topic.subscriptions, func(o *subscription) bool { return o == sub })
}

func (s *Service) getSubscriptionAttributes(
	_ context.Context, in *sns.GetSubscriptionAttributesInput,
) (out *sns.GetSubscriptionAttributesOutput, err error) {
	err = s.withSubscription(in.SubscriptionArn, func(r *region, sub *subscription) error {
		attributes := maps.Clone(sub.attributes)
		maps.Copy(attributes, map[string]string{
			"SubscriptionArn": sub.arn, "TopicArn": sub.topic.arn, "Owner": sub.owner,
			"Protocol": sub.protocol, "Endpoint": sub.endpoint,
			"ConfirmationWasAuthenticated": "true", "PendingConfirmation": "false",
			"SubscriptionPrincipal": "arn:" + s.partition() + ":iam::" + r.Account + ":user/demo",
		})
		if sub.pending {
			attributes["PendingConfirmation"] = "true"
			attributes["ConfirmationWasAuthenticated"] = "false"
		}
		out = &sns.GetSubscriptionAttributesOutput{Attributes: attributes}
		return nil
	})
	return out, err
}

func (s *Service) setSubscriptionAttributes(
	_ context.Context, in *sns.SetSubscriptionAttributesInput,
) (*sns.SetSubscriptionAttributesOutput, error) {
	return nil, s.withSubscription(in.SubscriptionArn, func(_ *region, sub *subscription) error {
		return sub.set(aws.ToString(in.AttributeName), aws.ToString(in.AttributeValue))
	})
}

func (sub *subscription) describe() types.Subscription {
	arn := sub.arn
	if sub.pending {
		arn = pendingARN
	}
	return types.Subscription{
		SubscriptionArn: &arn, TopicArn: &sub.topic.arn, Owner: &sub.owner,
		Protocol: aws.String(sub.protocol), Endpoint: aws.String(sub.endpoint),
	}
}

func (s *Service) listSubscriptions(ctx context.Context, in *sns.ListSubscriptionsInput) (*sns.ListSubscriptionsOutput, error) {
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	arns, next := pageSize.Page(keysOf(r.subscriptions), in.NextToken, nil)
	out := &sns.ListSubscriptionsOutput{Subscriptions: []types.Subscription{}, NextToken: next}
	for _, arn := range arns {
		out.Subscriptions = append(out.Subscriptions, r.subscriptions[arn].describe())
	}
	return out, nil
}

func (s *Service) listSubscriptionsByTopic(
	ctx context.Context, in *sns.ListSubscriptionsByTopicInput,
) (*sns.ListSubscriptionsByTopicOutput, error) {
	out := &sns.ListSubscriptionsByTopicOutput{Subscriptions: []types.Subscription{}}
	err := s.withTopic(ctx, in.TopicArn, func(r *region, t *topic) error {
		var all []string
		for _, sub := range t.subscriptions {
			all = append(all, sub.arn)
		}
		all, out.NextToken = pageSize.Page(all, in.NextToken, nil)
		for _, arn := range all {
			out.Subscriptions = append(out.Subscriptions, r.subscriptions[arn].describe())
		}
		return nil
	})
	return out, err
}
