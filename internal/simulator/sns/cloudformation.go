package sns

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/sharedpolicy"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const (
	topicType        = "AWS::SNS::Topic"
	subscriptionType = "AWS::SNS::Subscription"
	policyType       = "AWS::SNS::TopicPolicy"
)

// Providers returns the providers of the CloudFormation types for SNS.
func (s *Service) Providers() map[string]resource.Provider {
	return map[string]resource.Provider{
		topicType:        topicProvider{s},
		subscriptionType: subscriptionProvider{s},
		policyType:       sharedpolicy.Provider{Type: policyType, Member: "Topics", Set: s.setPolicy, Get: s.policyOf},
	}
}

// topicProperties are the properties of AWS::SNS::Topic.
type topicProperties struct {
	TopicName    string
	Subscription []struct{ Endpoint, Protocol string }
	Tags         []property.Tag
	plain        map[string]string
}

// topicNames are the properties that are attributes with the same name.
var topicNames = []string{
	"DisplayName", "FifoTopic", "ContentBasedDeduplication", "KmsMasterKeyId",
	"SignatureVersion", "TracingConfig", "FifoThroughputScope",
}

func decodeTopic(properties map[string]any) (p topicProperties, err error) {
	var own struct {
		TopicName            string
		Subscription         []struct{ Endpoint, Protocol string }
		Tags                 []property.Tag
		ArchivePolicy        property.Document
		DataProtectionPolicy property.Document
	}
	if err := property.Decode(properties, &own); err != nil {
		return p, err
	}
	p = topicProperties{TopicName: own.TopicName, Subscription: own.Subscription, Tags: own.Tags, plain: map[string]string{}}
	for _, name := range topicNames {
		if text, ok := property.Text(properties[name]); ok {
			p.plain[name] = text
		}
	}
	if p.plain["FifoTopic"] == "false" {
		delete(p.plain, "FifoTopic")
	}
	for name, text := range map[string]property.Document{
		"ArchivePolicy": own.ArchivePolicy, "DataProtectionPolicy": own.DataProtectionPolicy,
	} {
		if text != "" {
			p.plain[name] = string(text)
		}
	}
	return p, nil
}

// handled converts an error of the service to a resource handler's.
func handled(err error) error { return property.HandlerError("Sns", err) }

// inStack returns a context without a caller, because the ARN contains the account and region.
func inStack(ctx context.Context) context.Context { return wire.WithCall(ctx, &wire.Call{}) }

type topicProvider struct{ s *Service }

// Create creates a topic and its inline subscriptions.
func (p topicProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	props, err := decodeTopic(r.Properties)
	if err != nil {
		return resource.Result{}, err
	}
	if props.TopicName == "" {
		suffix := ""
		if props.plain["FifoTopic"] == "true" {
			suffix = fifoSuffix
		}
		props.TopicName = property.Name(r, 256, suffix)
	}
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	if t, ok := reg.topics[props.TopicName]; ok {
		return resource.Result{}, property.Exists(topicType, t.arn)
	}
	t, err := p.s.create(reg, props.TopicName, props.plain, property.Tags(r.Tags, props.Tags))
	if err != nil {
		return resource.Result{}, handled(err)
	}
	for _, sub := range props.Subscription {
		if _, err := p.s.add(reg, t, sub.Protocol, sub.Endpoint, nil); err != nil {
			reg.remove(t)
			return resource.Result{}, handled(err)
		}
	}
	return topicResult(t), nil
}

func topicResult(t *topic) resource.Result {
	return resource.Result{PhysicalID: t.arn, Attributes: map[string]any{"TopicArn": t.arn, "TopicName": t.name}}
}

// Update changes a topic's attributes, inline subscriptions and tags.
func (p topicProvider) Update(ctx context.Context, r resource.Request) (result resource.Result, err error) {
	props, err := decodeTopic(r.Properties)
	if err != nil {
		return result, err
	}
	previous, err := decodeTopic(r.Previous)
	if err != nil {
		return result, err
	}
	err = p.s.withTopic(inStack(ctx), &r.PhysicalID, func(reg *region, t *topic) error {
		for name := range previous.plain {
			if _, kept := props.plain[name]; !kept {
				t.set(reg, name, "")
			}
		}
		for name, value := range props.plain {
			if err := checkTopicAttribute(name, value, t.fifo); err != nil {
				return err
			}
			t.set(reg, name, value)
		}
		t.tags = property.Tags(r.Tags, props.Tags)
		result = topicResult(t)
		return p.resubscribe(reg, t, previous, props)
	})
	return result, handled(err)
}

// resubscribe updates the inline subscriptions to the properties.
func (p topicProvider) resubscribe(reg *region, t *topic, previous, props topicProperties) error {
	type inline = struct{ Endpoint, Protocol string }
	wanted := map[inline]bool{}
	for _, sub := range props.Subscription {
		wanted[sub] = true
		if _, err := p.s.add(reg, t, sub.Protocol, sub.Endpoint, nil); err != nil {
			return err
		}
	}
	gone := map[inline]bool{}
	for _, sub := range previous.Subscription {
		gone[sub] = !wanted[sub]
	}
	for _, sub := range append([]*subscription(nil), t.subscriptions...) {
		if gone[inline{sub.endpoint, sub.protocol}] {
			reg.drop(sub)
		}
	}
	return nil
}

// Delete deletes a topic with its subscriptions.
func (p topicProvider) Delete(ctx context.Context, r resource.Request) error {
	return handled(p.s.withTopic(inStack(ctx), &r.PhysicalID, func(reg *region, t *topic) error {
		reg.remove(t)
		return nil
	}))
}

// List returns the ARNs of the topics.
func (p topicProvider) List(_ context.Context, at wire.Target) ([]string, error) {
	reg := p.s.regions.At(at)
	reg.mu.Lock()
	defer reg.mu.Unlock()
	var arns []string
	for _, t := range reg.topics {
		arns = append(arns, t.arn)
	}
	return arns, nil
}

// Read returns a topic's properties.
func (p topicProvider) Read(ctx context.Context, r resource.Request) (props map[string]any, err error) {
	err = p.s.withTopic(inStack(ctx), &r.PhysicalID, func(_ *region, t *topic) error {
		props = map[string]any{"TopicName": t.name, "TopicArn": t.arn, "Tags": property.TagList(t.tags)}
		for _, name := range topicNames {
			switch value := t.attributes[name]; value {
			case "":
			case "true", "false":
				props[name] = value == "true"
			default:
				props[name] = value
			}
		}
		var inline []any
		for _, sub := range t.subscriptions {
			inline = append(inline, map[string]any{"Protocol": sub.protocol, "Endpoint": sub.endpoint})
		}
		if len(inline) > 0 {
			props["Subscription"] = inline
		}
		return nil
	})
	return props, handled(err)
}

// subscriptionProperties are the properties of AWS::SNS::Subscription.
type subscriptionProperties struct {
	TopicArn, Protocol, Endpoint, Region, FilterPolicyScope, SubscriptionRoleArn, RawMessageDelivery string
	FilterPolicy, DeliveryPolicy, RedrivePolicy, ReplayPolicy                                        property.Document
}

// attributes returns the subscription's attributes; an empty value resets an attribute to its
// default.
func (p *subscriptionProperties) attributes() map[string]string {
	all := map[string]string{
		"FilterPolicy": string(p.FilterPolicy), "DeliveryPolicy": string(p.DeliveryPolicy),
		"RedrivePolicy": string(p.RedrivePolicy), "ReplayPolicy": string(p.ReplayPolicy),
		"FilterPolicyScope": p.FilterPolicyScope, "SubscriptionRoleArn": p.SubscriptionRoleArn,
		"RawMessageDelivery": p.RawMessageDelivery,
	}
	maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
	return all
}

type subscriptionProvider struct{ s *Service }

// Create subscribes an endpoint.
func (p subscriptionProvider) Create(ctx context.Context, r resource.Request) (result resource.Result, err error) {
	var props subscriptionProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return result, err
	}
	var made *subscription
	err = p.s.withTopic(inStack(ctx), &props.TopicArn, func(reg *region, t *topic) (err error) {
		made, err = p.s.add(reg, t, props.Protocol, props.Endpoint, props.attributes())
		return err
	})
	if err != nil {
		return result, handled(err)
	}
	if made.pending {
		p.s.askToConfirm(ctx, made)
	}
	return resource.Result{PhysicalID: made.arn, Attributes: map[string]any{"Arn": made.arn}}, nil
}

// Update changes a subscription's attributes.
func (p subscriptionProvider) Update(_ context.Context, r resource.Request) (result resource.Result, err error) {
	var props subscriptionProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return result, err
	}
	err = p.s.withSubscription(&r.PhysicalID, func(_ *region, sub *subscription) error {
		before := sub.attributes
		sub.attributes = map[string]string{"RawMessageDelivery": "false"}
		sub.filter = nil
		for name, value := range props.attributes() {
			if err := sub.set(name, value); err != nil {
				sub.attributes = before
				_ = sub.setFilter(before["FilterPolicy"]) // it was accepted before
				return err
			}
		}
		return nil
	})
	return resource.Result{PhysicalID: r.PhysicalID, Attributes: map[string]any{"Arn": r.PhysicalID}}, handled(err)
}

// Delete unsubscribes the endpoint.
func (p subscriptionProvider) Delete(_ context.Context, r resource.Request) error {
	return handled(p.s.withSubscription(&r.PhysicalID, func(reg *region, sub *subscription) error {
		reg.drop(sub)
		return nil
	}))
}

// Read returns a subscription's properties.
func (p subscriptionProvider) Read(_ context.Context, r resource.Request) (props map[string]any, err error) {
	err = p.s.withSubscription(&r.PhysicalID, func(_ *region, sub *subscription) error {
		props = map[string]any{"Arn": sub.arn, "TopicArn": sub.topic.arn, "Protocol": sub.protocol, "Endpoint": sub.endpoint}
		for name, value := range sub.attributes {
			var document map[string]any
			switch {
			case value == "true" || value == "false":
				props[name] = value == "true"
			case json.Unmarshal([]byte(value), &document) == nil:
				props[name] = document
			default:
				props[name] = value
			}
		}
		return nil
	})
	return props, handled(err)
}

// setPolicy sets a topic's policy, or resets it to its default.
func (s *Service) setPolicy(ctx context.Context, _ resource.Request, arn, document string) error {
	return handled(s.withTopic(inStack(ctx), &arn, func(reg *region, t *topic) error {
		if err := checkTopicAttribute("Policy", document, t.fifo); err != nil {
			return err
		}
		t.set(reg, "Policy", document)
		return nil
	}))
}

func (s *Service) policyOf(ctx context.Context, _ resource.Request, arn string) (document string, err error) {
	err = s.withTopic(inStack(ctx), &arn, func(_ *region, t *topic) error {
		document = t.attributes["Policy"]
		return nil
	})
	return document, err
}
