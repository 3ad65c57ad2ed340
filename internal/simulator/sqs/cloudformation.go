package sqs

import (
	"context"
	"encoding/json"
	"maps"
	"strconv"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/sharedpolicy"
	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const (
	queueType  = "AWS::SQS::Queue"
	policyType = "AWS::SQS::QueuePolicy"
)

// Providers returns the providers of the CloudFormation types for SQS.
func (s *Service) Providers() map[string]resource.Provider {
	return map[string]resource.Provider{
		queueType:  queueProvider{s},
		policyType: sharedpolicy.Provider{Type: policyType, Member: "Queues", Set: s.setPolicy, Get: s.policyOf},
	}
}

// queueProperties are the properties of AWS::SQS::Queue that are not plain attributes.
type queueProperties struct {
	QueueName string
	Tags      []property.Tag
}

// attributesOf converts properties to queue attributes; the names are the same.
func attributesOf(properties map[string]any) map[string]string {
	attributes := map[string]string{}
	for name, value := range properties {
		if name == "QueueName" || name == "Tags" {
			continue
		}
		if text, ok := property.Text(value); ok {
			attributes[name] = text
			continue
		}
		if text, err := json.Marshal(value); err == nil {
			attributes[name] = string(text)
		}
	}
	if attributes["FifoQueue"] == "false" {
		delete(attributes, "FifoQueue")
	}
	return attributes
}

type queueProvider struct{ s *Service }

// Create creates a queue.
func (p queueProvider) Create(ctx context.Context, r resource.Request) (resource.Result, error) {
	var props queueProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return resource.Result{}, err
	}
	attributes := attributesOf(r.Properties)
	if props.QueueName == "" {
		suffix := ""
		if attributes["FifoQueue"] == "true" {
			suffix = fifoSuffix
		}
		props.QueueName = property.Name(r, 80, suffix)
	}
	reg := p.s.regions.At(r.Target())
	if reg.queue(props.QueueName) != nil {
		return resource.Result{}, property.Exists(queueType, props.QueueName)
	}
	q, err := p.s.create(reg, props.QueueName, attributes, tagsOf(r, props.Tags))
	if err != nil {
		return resource.Result{}, property.HandlerError("Sqs", err)
	}
	return p.result(ctx, reg, q), nil
}

func (p queueProvider) result(ctx context.Context, reg *region, q *queue) resource.Result {
	address := p.s.url(ctx, reg, q.name)
	return resource.Result{
		PhysicalID: address,
		Attributes: map[string]any{"Arn": q.arn, "QueueName": q.name, "QueueUrl": address},
	}
}

// find returns the queue with a physical ID.
func (p queueProvider) find(ctx context.Context, r resource.Request) (*region, *queue, error) {
	reg, q, err := p.s.find(within(ctx, r), &r.PhysicalID)
	if err != nil {
		return nil, nil, property.Missing(queueType, r.PhysicalID)
	}
	return reg, q, nil
}

// within returns a context for CloudFormation's calls in the stack's account and region.
func within(ctx context.Context, r resource.Request) context.Context {
	call := *wire.CallFrom(ctx)
	call.Account, call.Region, call.Path = r.Account, r.Region, ""
	return wire.WithCall(ctx, &call)
}

// Update changes a queue's attributes and tags. Properties that were removed return to their
// default.
func (p queueProvider) Update(ctx context.Context, r resource.Request) (resource.Result, error) {
	var props queueProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return resource.Result{}, err
	}
	reg, q, err := p.find(ctx, r)
	if err != nil {
		return resource.Result{}, err
	}
	attributes := defaults(q.fifo)
	for _, name := range texts {
		attributes[name] = ""
	}
	delete(attributes, "Policy") // belongs to AWS::SQS::QueuePolicy
	maps.Copy(attributes, attributesOf(r.Properties))
	if err := p.s.change(q, attributes); err != nil {
		return resource.Result{}, property.HandlerError("Sqs", err)
	}
	q.mu.Lock()
	q.tags = tagsOf(r, props.Tags)
	q.mu.Unlock()
	result := p.result(ctx, reg, q)
	result.PhysicalID, result.Attributes["QueueUrl"] = r.PhysicalID, r.PhysicalID
	return result, nil
}

// Delete deletes a queue.
func (p queueProvider) Delete(ctx context.Context, r resource.Request) error {
	reg, q, err := p.find(ctx, r)
	if err != nil {
		return err
	}
	reg.remove(q, p.s.env.Clock.Now())
	return nil
}

// Read returns a queue's properties.
func (p queueProvider) Read(ctx context.Context, r resource.Request) (map[string]any, error) {
	_, q, err := p.find(ctx, r)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	props := map[string]any{"QueueName": q.name, "Arn": q.arn, "QueueUrl": r.PhysicalID, "Tags": property.TagList(q.tags)}
	for name, value := range q.attributes {
		switch {
		case name == "Policy":
		case value == "true" || value == "false":
			props[name] = value == "true"
		case strings.HasPrefix(value, "{"):
			var document any
			if json.Unmarshal([]byte(value), &document) == nil {
				props[name] = document
			}
		default:
			props[name] = number(value)
		}
	}
	return props, nil
}

// List returns the URLs of the queues.
func (p queueProvider) List(ctx context.Context, at wire.Target) ([]string, error) {
	reg := p.s.regions.At(at)
	return p.s.urls(within(ctx, resource.Request{Account: at.Account, Region: at.Region}), reg, reg.names()), nil
}

func number(text string) any {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return n
}

// setPolicy sets or removes a queue's policy.
func (s *Service) setPolicy(ctx context.Context, r resource.Request, address, document string) error {
	_, q, err := s.find(within(ctx, r), &address)
	if err == nil {
		err = s.change(q, map[string]string{"Policy": document})
	}
	return property.HandlerError("Sqs", err)
}

func (s *Service) policyOf(ctx context.Context, r resource.Request, address string) (document string, err error) {
	_, q, err := s.find(within(ctx, r), &address)
	if err != nil {
		return "", err
	}
	return q.describe([]string{"Policy"}, s.env.Clock.Now())["Policy"], nil
}

// tagsOf returns the tags of a queue in a stack. Queues do not get the tags of CloudFormation itself,
// because SQS does not support aws: tags.
// https://github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/652
func tagsOf(r resource.Request, own []property.Tag) map[string]string {
	tags := property.Tags(r.Tags, own)
	maps.DeleteFunc(tags, func(key, _ string) bool { return tagging.IsReserved(key) })
	return tags
}
