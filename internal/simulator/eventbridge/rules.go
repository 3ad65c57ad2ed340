package eventbridge

import (
	"context"
	"regexp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/aws-operator/aws-operator/internal/simulator/pattern"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// maxTargets is the maximum number of targets of a rule.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html
const maxTargets = 5

// maxRules is the quota of rules of a bus.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html
const maxRules = 300

// schedule is an expression of a schedule: a rate, whose unit is singular for 1, or the six fields of cron.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-scheduled-rule-pattern.html
var schedule = regexp.MustCompile(
	`^(rate\((1 (minute|hour|day)|([2-9]|[1-9]\d+) (minutes|hours|days))\)|cron\(\S+( \S+){5}\))$`,
)

// specification holds the parameters of a rule.
type specification struct {
	name, description, pattern, schedule, roleARN string
	state                                         types.RuleState
}

// put creates or changes a rule. The caller holds the lock.
func (s *Service) put(r *region, b *bus, spec specification) (*rule, error) {
	if !validName.MatchString(spec.name) || len(spec.name) > 64 {
		return nil, validation(
			"1 validation error detected: Value '%s' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: [\\.\\-_A-Za-z0-9]+",
			spec.name,
		)
	}
	if spec.pattern == "" && spec.schedule == "" {
		return nil, validation("Parameter(s) EventPattern or ScheduleExpression must be specified.")
	}
	if spec.schedule != "" && !schedule.MatchString(spec.schedule) {
		return nil, validation("Parameter ScheduleExpression is not valid.")
	}
	if spec.schedule != "" && b.name != defaultBus {
		return nil, validation("ScheduleExpression is supported only on the default event bus.")
	}
	var parsed *pattern.Pattern
	if spec.pattern != "" {
		var err error
		if parsed, err = pattern.Parse(spec.pattern); err != nil {
			return nil, wire.Errorf("InvalidEventPatternException", "Event pattern is not valid. Reason: %s", err)
		}
	}
	switch spec.state {
	case "":
		spec.state = types.RuleStateEnabled
	case types.RuleStateEnabled, types.RuleStateDisabled, types.RuleStateEnabledWithAllCloudtrailManagementEvents:
	default:
		return nil, validation(
			"1 validation error detected: Value '%s' at 'state' failed to satisfy constraint: Member must satisfy enum value set: [ENABLED, DISABLED, ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS]",
			spec.state,
		)
	}
	found, ok := b.rules[spec.name]
	if !ok {
		path := "rule/" + spec.name
		if b.name != defaultBus {
			path = "rule/" + b.name + "/" + spec.name
		}
		if len(b.rules) >= maxRules {
			return nil, wire.Errorf("LimitExceededException", "The requested resource exceeds the maximum number allowed.")
		}
		found = &rule{name: spec.name, arn: r.ARN(s.partition(), "events", path), bus: b, tags: map[string]string{}}
		b.rules[spec.name] = found
	}
	found.description, found.schedule, found.roleARN = spec.description, spec.schedule, spec.roleARN
	found.text, found.pattern = spec.pattern, parsed
	found.state, found.enabled = spec.state, spec.state != types.RuleStateDisabled
	return found, nil
}

func (s *Service) putRule(ctx context.Context, in *eventbridge.PutRuleInput) (out *eventbridge.PutRuleOutput, err error) {
	if err := tagRules.Check(nil, tagMap(in.Tags)); err != nil {
		return nil, err
	}
	err = s.withBus(wire.TargetFrom(ctx), in.EventBusName, func(r *region, b *bus) error {
		_, existed := b.rules[aws.ToString(in.Name)]
		made, err := s.put(r, b, specification{
			name: aws.ToString(in.Name), description: aws.ToString(in.Description), pattern: aws.ToString(in.EventPattern),
			schedule: aws.ToString(in.ScheduleExpression), roleARN: aws.ToString(in.RoleArn), state: in.State,
		})
		if err != nil {
			return err
		}
		if !existed { // PutRule does not change the tags of an existing rule
			made.tags = tagMap(in.Tags)
			// The page says so of PutRule. The simulated CloudFormation waits until a rule matches.
			// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutRule.html
			made.since = s.env.Clock.Now().Add(s.env.Lag.Draw())
		}
		out = &eventbridge.PutRuleOutput{RuleArn: &made.arn}
		return nil
	})
	return out, err
}

func (s *Service) deleteRule(ctx context.Context, in *eventbridge.DeleteRuleInput) (*eventbridge.DeleteRuleOutput, error) {
	return nil, s.withBus(wire.TargetFrom(ctx), in.EventBusName, func(_ *region, b *bus) error {
		found, ok := b.rules[aws.ToString(in.Name)]
		if ok && len(found.targets) > 0 {
			return validation("Rule can't be deleted since it has targets.")
		}
		delete(b.rules, aws.ToString(in.Name)) // deleting a deleted rule succeeds
		return nil
	})
}

func (s *Service) describeRule(ctx context.Context, in *eventbridge.DescribeRuleInput) (out *eventbridge.DescribeRuleOutput, err error) {
	err = s.withRule(wire.TargetFrom(ctx), in.EventBusName, in.Name, func(r *region, found *rule) error {
		d := found.describe()
		out = &eventbridge.DescribeRuleOutput{
			Name: d.Name, Arn: d.Arn, Description: d.Description, EventBusName: d.EventBusName, EventPattern: d.EventPattern,
			ScheduleExpression: d.ScheduleExpression, RoleArn: d.RoleArn, State: d.State, CreatedBy: &r.Account,
		}
		return nil
	})
	return out, err
}

func (r *rule) describe() types.Rule {
	return types.Rule{
		Name: &r.name, Arn: &r.arn, EventBusName: &r.bus.name, State: r.state, Description: wire.Optional(r.description),
		EventPattern: wire.Optional(r.text), ScheduleExpression: wire.Optional(r.schedule), RoleArn: wire.Optional(r.roleARN),
	}
}

func (s *Service) setState(ctx context.Context, busName, name *string, state types.RuleState) error {
	return s.withRule(wire.TargetFrom(ctx), busName, name, func(_ *region, found *rule) error {
		found.state, found.enabled = state, state == types.RuleStateEnabled
		return nil
	})
}

func (s *Service) enableRule(ctx context.Context, in *eventbridge.EnableRuleInput) (*eventbridge.EnableRuleOutput, error) {
	return nil, s.setState(ctx, in.EventBusName, in.Name, types.RuleStateEnabled)
}

func (s *Service) disableRule(ctx context.Context, in *eventbridge.DisableRuleInput) (*eventbridge.DisableRuleOutput, error) {
	return nil, s.setState(ctx, in.EventBusName, in.Name, types.RuleStateDisabled)
}

func (s *Service) listRules(ctx context.Context, in *eventbridge.ListRulesInput) (out *eventbridge.ListRulesOutput, err error) {
	err = s.withBus(wire.TargetFrom(ctx), in.EventBusName, func(_ *region, b *bus) error {
		names, next := pageSize.Page(withPrefix(b.rules, in.NamePrefix), in.NextToken, in.Limit)
		out = &eventbridge.ListRulesOutput{Rules: []types.Rule{}, NextToken: next}
		for _, name := range names {
			out.Rules = append(out.Rules, b.rules[name].describe())
		}
		return nil
	})
	return out, err
}

func (s *Service) listRuleNamesByTarget(
	ctx context.Context, in *eventbridge.ListRuleNamesByTargetInput,
) (out *eventbridge.ListRuleNamesByTargetOutput, err error) {
	err = s.withBus(wire.TargetFrom(ctx), in.EventBusName, func(_ *region, b *bus) error {
		var names []string
		for name, found := range b.rules {
			if slices.ContainsFunc(found.targets, func(t types.Target) bool { return aws.ToString(t.Arn) == aws.ToString(in.TargetArn) }) {
				names = append(names, name)
			}
		}
		names, next := pageSize.Page(names, in.NextToken, in.Limit)
		if names == nil {
			names = []string{}
		}
		out = &eventbridge.ListRuleNamesByTargetOutput{RuleNames: names, NextToken: next}
		return nil
	})
	return out, err
}

func (s *Service) putTargets(ctx context.Context, in *eventbridge.PutTargetsInput) (*eventbridge.PutTargetsOutput, error) {
	return &eventbridge.PutTargetsOutput{FailedEntries: []types.PutTargetsResultEntry{}},
		s.withRule(wire.TargetFrom(ctx), in.EventBusName, in.Rule, func(_ *region, found *rule) error {
			return s.setTargets(found, in.Targets)
		})
}

// setTargets adds targets or replaces those with the same ID.
func (s *Service) setTargets(r *rule, targets []types.Target) error {
	next := slices.Clone(r.targets)
	for _, t := range targets {
		if aws.ToString(t.Id) == "" || aws.ToString(t.Arn) == "" {
			return validation("Parameter Targets is not valid. Reason: Each target has an Id and an Arn.")
		}
		if countSet(t.Input != nil, t.InputPath != nil, t.InputTransformer != nil) > 1 {
			return validation("Only one of Input, InputPath, or InputTransformer must be provided for target %s.", *t.Id)
		}
		if err := s.checkRole(r, &t); err != nil {
			return err
		}
		at := slices.IndexFunc(next, func(o types.Target) bool { return *o.Id == *t.Id })
		if at < 0 {
			next = append(next, t)
		} else {
			next[at] = t
		}
	}
	if len(next) > maxTargets {
		return wire.Errorf("LimitExceededException", "The requested resource exceeds the maximum number allowed.")
	}
	r.targets = next
	return nil
}

func countSet(flags ...bool) int {
	n := 0
	for _, f := range flags {
		if f {
			n++
		}
	}
	return n
}

func (s *Service) removeTargets(ctx context.Context, in *eventbridge.RemoveTargetsInput) (*eventbridge.RemoveTargetsOutput, error) {
	out := &eventbridge.RemoveTargetsOutput{FailedEntries: []types.RemoveTargetsResultEntry{}}
	err := s.withRule(wire.TargetFrom(ctx), in.EventBusName, in.Rule, func(_ *region, found *rule) error {
		found.targets = slices.DeleteFunc(slices.Clone(found.targets), func(t types.Target) bool { return slices.Contains(in.Ids, *t.Id) })
		return nil
	})
	return out, err
}

func (s *Service) listTargetsByRule(
	ctx context.Context, in *eventbridge.ListTargetsByRuleInput,
) (out *eventbridge.ListTargetsByRuleOutput, err error) {
	err = s.withRule(wire.TargetFrom(ctx), in.EventBusName, in.Rule, func(_ *region, found *rule) error {
		out = &eventbridge.ListTargetsByRuleOutput{Targets: slices.Clone(found.targets)}
		if out.Targets == nil {
			out.Targets = []types.Target{}
		}
		return nil
	})
	return out, err
}
