package eventbridge

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const (
	ruleType = "AWS::Events::Rule"
	busType  = "AWS::Events::EventBus"
)

// Providers returns the providers of the CloudFormation types for EventBridge.
func (s *Service) Providers() map[string]resource.Provider {
	return map[string]resource.Provider{ruleType: ruleProvider{s}, busType: busProvider{s}}
}

func handled(err error) error { return property.HandlerError("EventBridge", err) }

// ruleProperties are the properties of AWS::Events::Rule.
type ruleProperties struct {
	Name, Description, EventBusName, RoleArn, ScheduleExpression, State string
	EventPattern                                                        property.Document
	Tags                                                                []property.Tag
	Targets                                                             []targetProperties
}

// targetProperties are the properties of a target that have an effect; only CloudFormation stores
// the others.
type targetProperties struct {
	ID               string `cfn:"Id"`
	Arn, RoleArn     string
	Input, InputPath *string
	InputTransformer *struct {
		InputPathsMap map[string]string
		InputTemplate string
	}
	SqsParameters     *struct{ MessageGroupId string } //nolint:revive // the property's name
	KinesisParameters *struct{ PartitionKeyPath string }
	DeadLetterConfig  *struct{ Arn string }
	RetryPolicy       *struct{ MaximumEventAgeInSeconds, MaximumRetryAttempts *int32 }
}

func (p *targetProperties) target() types.Target {
	t := types.Target{
		Id:        aws.String(p.ID),
		Arn:       aws.String(p.Arn),
		RoleArn:   wire.Optional(p.RoleArn),
		Input:     p.Input,
		InputPath: p.InputPath,
	}
	if x := p.InputTransformer; x != nil {
		t.InputTransformer = &types.InputTransformer{InputPathsMap: x.InputPathsMap, InputTemplate: aws.String(x.InputTemplate)}
	}
	if x := p.SqsParameters; x != nil {
		t.SqsParameters = &types.SqsParameters{MessageGroupId: aws.String(x.MessageGroupId)}
	}
	if x := p.KinesisParameters; x != nil {
		t.KinesisParameters = &types.KinesisParameters{PartitionKeyPath: aws.String(x.PartitionKeyPath)}
	}
	if x := p.DeadLetterConfig; x != nil {
		t.DeadLetterConfig = &types.DeadLetterConfig{Arn: aws.String(x.Arn)}
	}
	if x := p.RetryPolicy; x != nil {
		t.RetryPolicy = &types.RetryPolicy{
			MaximumEventAgeInSeconds: x.MaximumEventAgeInSeconds,
			MaximumRetryAttempts:     x.MaximumRetryAttempts,
		}
	}
	return t
}

type ruleProvider struct{ s *Service }

// Create creates a rule with its targets.
func (p ruleProvider) Create(_ context.Context, r resource.Request) (result resource.Result, err error) {
	var props ruleProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return result, err
	}
	if props.Name == "" {
		props.Name = property.Name(r, 64, "")
	}
	err = p.s.withBus(r.Target(), &props.EventBusName, func(reg *region, b *bus) error {
		if found, ok := b.rules[props.Name]; ok {
			return property.Exists(ruleType, found.arn)
		}
		made, err := p.apply(reg, b, r, &props)
		if err != nil {
			delete(b.rules, props.Name)
			return err
		}
		result = ruleResult(made)
		return nil
	})
	return result, handled(err)
}

func (p ruleProvider) apply(reg *region, b *bus, r resource.Request, props *ruleProperties) (*rule, error) {
	made, err := p.s.put(reg, b, specification{
		name: props.Name, description: props.Description, pattern: string(props.EventPattern),
		schedule: props.ScheduleExpression, roleARN: props.RoleArn, state: types.RuleState(props.State),
	})
	if err != nil {
		return nil, err
	}
	made.tags = property.Tags(r.Tags, props.Tags)
	targets := made.targets
	made.targets = nil
	list := make([]types.Target, len(props.Targets))
	for i := range props.Targets {
		list[i] = props.Targets[i].target()
	}
	if err := p.s.setTargets(made, list); err != nil {
		made.targets = targets
		return nil, err
	}
	return made, nil
}

// ruleResult returns the physical ID of a rule. For a rule on another bus than the default it is
// bus|rule.
func ruleResult(made *rule) resource.Result {
	id := made.name
	if made.bus.name != defaultBus {
		id = made.bus.name + "|" + made.name
	}
	return resource.Result{PhysicalID: id, Attributes: map[string]any{"Arn": made.arn}}
}

// find runs fn on the rule with a physical ID.
func (p ruleProvider) find(r resource.Request, fn func(*region, *rule) error) error {
	id := r.PhysicalID
	if _, name, isARN := strings.Cut(id, ":rule/"); isARN { // the primary identifier, which Ref does not return
		id = strings.Replace(name, "/", "|", 1)
	}
	busName, name, custom := strings.Cut(id, "|")
	if !custom {
		busName, name = defaultBus, id
	}
	return handled(p.s.withRule(r.Target(), &busName, &name, fn))
}

// Update changes a rule and its targets.
func (p ruleProvider) Update(_ context.Context, r resource.Request) (result resource.Result, err error) {
	var props ruleProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return result, err
	}
	err = p.find(r, func(reg *region, found *rule) error {
		props.Name = found.name
		made, err := p.apply(reg, found.bus, r, &props)
		if err != nil {
			return err
		}
		result = ruleResult(made)
		return nil
	})
	return result, handled(err)
}

// Delete deletes a rule with its targets.
func (p ruleProvider) Delete(_ context.Context, r resource.Request) error {
	return p.find(r, func(_ *region, found *rule) error {
		delete(found.bus.rules, found.name)
		return nil
	})
}

// List returns the ARNs of the rules of the default bus.
func (p ruleProvider) List(_ context.Context, at wire.Target) ([]string, error) {
	var arns []string
	name := defaultBus
	err := p.s.withBus(at, &name, func(_ *region, b *bus) error {
		for _, found := range b.rules {
			arns = append(arns, found.arn)
		}
		return nil
	})
	return arns, handled(err)
}

// Read returns a rule's properties.
func (p ruleProvider) Read(_ context.Context, r resource.Request) (props map[string]any, err error) {
	err = p.find(r, func(_ *region, found *rule) error {
		props = map[string]any{
			"Name": found.name, "Arn": found.arn, "State": string(found.state), "EventBusName": found.bus.name,
			"Tags": property.TagList(found.tags),
		}
		for name, value := range map[string]string{
			"Description": found.description, "ScheduleExpression": found.schedule, "RoleArn": found.roleARN,
		} {
			if value != "" {
				props[name] = value
			}
		}
		var document map[string]any
		if json.Unmarshal([]byte(found.text), &document) == nil {
			props["EventPattern"] = document
		}
		var targets []any
		for _, t := range found.targets {
			targets = append(targets, targetMap(t))
		}
		if len(targets) > 0 {
			props["Targets"] = targets
		}
		return nil
	})
	return props, err
}

func targetMap(t types.Target) map[string]any {
	m := map[string]any{"Id": *t.Id, "Arn": *t.Arn}
	for name, value := range map[string]*string{"RoleArn": t.RoleArn, "Input": t.Input, "InputPath": t.InputPath} {
		if value != nil {
			m[name] = *value
		}
	}
	if x := t.InputTransformer; x != nil {
		paths := map[string]any{}
		for name, path := range x.InputPathsMap {
			paths[name] = path
		}
		m["InputTransformer"] = map[string]any{"InputPathsMap": paths, "InputTemplate": aws.ToString(x.InputTemplate)}
	}
	if x := t.SqsParameters; x != nil {
		m["SqsParameters"] = map[string]any{"MessageGroupId": aws.ToString(x.MessageGroupId)}
	}
	if x := t.KinesisParameters; x != nil {
		m["KinesisParameters"] = map[string]any{"PartitionKeyPath": aws.ToString(x.PartitionKeyPath)}
	}
	if x := t.DeadLetterConfig; x != nil {
		m["DeadLetterConfig"] = map[string]any{"Arn": aws.ToString(x.Arn)}
	}
	if x := t.RetryPolicy; x != nil {
		policy := map[string]any{}
		for name, value := range map[string]*int32{
			"MaximumEventAgeInSeconds": x.MaximumEventAgeInSeconds, "MaximumRetryAttempts": x.MaximumRetryAttempts,
		} {
			if value != nil {
				policy[name] = float64(*value)
			}
		}
		m["RetryPolicy"] = policy
	}
	return m
}

// busProperties are the properties of AWS::Events::EventBus that have an effect.
type busProperties struct {
	Name, Description string
	Policy            property.Document
	Tags              []property.Tag
	DeadLetterConfig  *struct{ Arn string }
}

func (p *busProperties) apply(b *bus, r resource.Request) {
	b.description, b.policy = p.Description, string(p.Policy)
	b.tags = property.Tags(r.Tags, p.Tags)
	b.deadLetters = nil
	if p.DeadLetterConfig != nil {
		b.deadLetters = &types.DeadLetterConfig{Arn: aws.String(p.DeadLetterConfig.Arn)}
	}
}

func busResult(b *bus) resource.Result {
	return resource.Result{PhysicalID: b.name, Attributes: map[string]any{"Arn": b.arn, "Name": b.name, "Policy": b.policy}}
}

type busProvider struct{ s *Service }

// Create creates a bus.
func (p busProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	var props busProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return resource.Result{}, err
	}
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	b, err := p.s.makeBus(reg, props.Name)
	if err != nil {
		return resource.Result{}, handled(err)
	}
	props.apply(b, r)
	return busResult(b), nil
}

// Update changes a bus.
func (p busProvider) Update(_ context.Context, r resource.Request) (result resource.Result, err error) {
	var props busProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return result, err
	}
	err = p.s.withBus(r.Target(), &r.PhysicalID, func(_ *region, b *bus) error {
		props.apply(b, r)
		b.modified = p.s.env.Clock.Now()
		result = busResult(b)
		return nil
	})
	return result, handled(err)
}

// Delete deletes a bus.
func (p busProvider) Delete(_ context.Context, r resource.Request) error {
	return handled(p.s.withBus(r.Target(), &r.PhysicalID, func(reg *region, b *bus) error {
		return reg.removeBus(b.name)
	}))
}

// List returns the names of the buses.
func (p busProvider) List(_ context.Context, at wire.Target) ([]string, error) {
	reg := p.s.regions.At(at)
	reg.mu.RLock()
	defer reg.mu.RUnlock()
	return slices.Collect(maps.Keys(reg.buses)), nil
}

// Read returns a bus's properties.
func (p busProvider) Read(_ context.Context, r resource.Request) (props map[string]any, err error) {
	err = p.s.withBus(r.Target(), &r.PhysicalID, func(_ *region, b *bus) error {
		props = map[string]any{"Name": b.name, "Arn": b.arn, "Tags": property.TagList(b.tags)}
		if b.description != "" {
			props["Description"] = b.description
		}
		return nil
	})
	return props, handled(err)
}
