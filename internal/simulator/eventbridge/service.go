package eventbridge

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/pattern"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/sns"
	"github.com/aws-operator/aws-operator/internal/simulator/sqs"
	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Service is the simulated EventBridge of all accounts and regions.
type Service struct {
	env     *resource.Env
	queues  *sqs.Service
	topics  *sns.Service
	faults  *fault.Injector
	regions wire.Store[region]
}

// region holds the buses of one account and region.
type region struct {
	wire.Target

	mu    sync.RWMutex
	buses map[string]*bus
}

// bus is one event bus.
type bus struct {
	name, arn, description, policy string
	created, modified              time.Time
	deadLetters                    *types.DeadLetterConfig
	kmsKey                         *string
	logs                           *types.LogConfig
	tags                           map[string]string
	rules                          map[string]*rule
}

// rule is one rule with its targets ordered by ID.
type rule struct {
	name, arn, description, schedule, roleARN, text string
	bus                                             *bus
	pattern                                         *pattern.Pattern
	enabled                                         bool
	since                                           time.Time // when it begins to match
	state                                           types.RuleState
	tags                                            map[string]string
	targets                                         []types.Target
}

const defaultBus = "default"

// New returns a service with a default bus in every account and region.
func New(env *resource.Env, queues *sqs.Service, topics *sns.Service, faults *fault.Injector) *Service {
	s := &Service{env: env, queues: queues, topics: topics, faults: faults}
	s.regions.New = func(p wire.Target) *region {
		r := &region{Target: p, buses: map[string]*bus{}}
		r.buses[defaultBus] = s.newBus(r, defaultBus)
		return r
	}
	return s
}

func (s *Service) newBus(r *region, name string) *bus {
	now := s.env.Clock.Now()
	return &bus{
		name: name, arn: r.ARN(s.partition(), "events", "event-bus/"+name), created: now, modified: now,
		tags: map[string]string{}, rules: map[string]*rule{},
	}
}

func (s *Service) partition() string {
	if s.env.Partition == "" {
		return "aws"
	}
	return s.env.Partition
}

// Service returns the operations for the wire layer.
func (s *Service) Service() *wire.Service {
	lower := func(name string) wire.Name { return wire.Name{Wire: name} }
	return &wire.Service{
		Name: "events", Describe: s.access, Protocols: []wire.Protocol{wire.JSON11}, TargetPrefix: "AWSEvents", APIVersion: "2015-10-07",
		// These structures come from ECS and Batch, with their names.
		Names: map[string]wire.Name{
			"NetworkConfiguration.AwsvpcConfiguration":      lower("awsvpcConfiguration"),
			"CapacityProviderStrategyItem.CapacityProvider": lower("capacityProvider"),
			"CapacityProviderStrategyItem.Weight":           lower("weight"),
			"CapacityProviderStrategyItem.Base":             lower("base"),
			"PlacementConstraint.Type":                      lower("type"),
			"PlacementConstraint.Expression":                lower("expression"),
			"PlacementStrategy.Type":                        lower("type"),
			"PlacementStrategy.Field":                       lower("field"),
		},
		Operations: map[string]wire.Operation{
			"CreateEventBus":        wire.Op(s.createEventBus),
			"DeleteEventBus":        wire.Op(s.deleteEventBus),
			"DeleteRule":            wire.Op(s.deleteRule),
			"DescribeEventBus":      wire.Op(s.describeEventBus),
			"DescribeRule":          wire.Op(s.describeRule),
			"DisableRule":           wire.Op(s.disableRule),
			"EnableRule":            wire.Op(s.enableRule),
			"ListEventBuses":        wire.Op(s.listEventBuses),
			"ListRuleNamesByTarget": wire.Op(s.listRuleNamesByTarget),
			"ListRules":             wire.Op(s.listRules),
			"ListTagsForResource":   wire.Op(s.listTagsForResource),
			"ListTargetsByRule":     wire.Op(s.listTargetsByRule),
			"PutEvents":             wire.Op(s.putEvents),
			"PutRule":               wire.Op(s.putRule),
			"PutTargets":            wire.Op(s.putTargets),
			"RemoveTargets":         wire.Op(s.removeTargets),
			"TagResource":           wire.Op(s.tagResource),
			"TestEventPattern":      wire.Op(s.testEventPattern),
			"UntagResource":         wire.Op(s.untagResource),
		},
	}
}

var validName = regexp.MustCompile(`^[.\-_A-Za-z0-9]+$`)

func notFound(format string, args ...any) *wire.Error {
	return wire.Errorf("ResourceNotFoundException", format, args...)
}

func validation(format string, args ...any) *wire.Error {
	return wire.Errorf("ValidationException", format, args...)
}

// withBus runs fn on a bus, by name or ARN, under its region's lock.
func (s *Service) withBus(where wire.Target, name *string, fn func(*region, *bus) error) error {
	id := aws.ToString(name)
	if id == "" {
		id = defaultBus
	}
	if parts := strings.SplitN(id, ":", 6); len(parts) == 6 {
		where = wire.Target{Account: parts[4], Region: parts[3]}
		id = strings.TrimPrefix(parts[5], "event-bus/")
	}
	r := s.regions.At(where)
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.buses[id]
	if !ok {
		return notFound("Event bus %s does not exist.", id)
	}
	return fn(r, b)
}

// withRule runs fn on a rule of a bus, under its region's lock.
func (s *Service) withRule(where wire.Target, busName, name *string, fn func(*region, *rule) error) error {
	return s.withBus(where, busName, func(r *region, b *bus) error {
		rule, ok := b.rules[aws.ToString(name)]
		if !ok {
			return notFound("Rule %s does not exist on EventBus %s.", aws.ToString(name), b.name)
		}
		return fn(r, rule)
	})
}

// withTags runs fn on the tags of a rule or bus.
func (s *Service) withTags(ctx context.Context, arn *string, fn func(map[string]string) error) error {
	parts := strings.SplitN(aws.ToString(arn), ":", 6)
	if len(parts) != 6 {
		return validation("Invalid ResourceARN: %s", aws.ToString(arn))
	}
	where := wire.TargetFrom(ctx)
	kind, path, _ := strings.Cut(parts[5], "/")
	if kind == "event-bus" {
		return s.withBus(where, &path, func(_ *region, b *bus) error { return fn(b.tags) })
	}
	busName, name, custom := strings.Cut(path, "/")
	if !custom {
		busName, name = defaultBus, path
	}
	return s.withRule(where, &busName, &name, func(_ *region, rule *rule) error { return fn(rule.tags) })
}

// tagRules are the errors for tags; neither codes nor words of AWS are on record. The words for
// reserved keys are what other projects expect.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-tagging.html
// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_TagResource.html
var tagRules = tagging.Rules{
	Reserved: tagging.Refusal{Code: "ValidationException", Message: "aws: prefixed tag key names are not allowed for external use."},
	Key:      tagging.LongKey("ValidationException", "key"),
	Value:    tagging.LongValue("ValidationException", "value"),
	TooMany:  tagging.Refusal{Code: "ValidationException", Message: "The resource has too many tags. At most 50 are allowed."},
}

func tagMap(tags []types.Tag) map[string]string {
	m := map[string]string{}
	for _, t := range tags {
		m[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return m
}

func withPrefix[V any](m map[string]V, prefix *string) []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(m)), func(name string) bool {
		return !strings.HasPrefix(name, aws.ToString(prefix))
	})
}

// pageSize is the size of a page.
var pageSize = wire.PageSize{Standard: 100, Most: 100}
