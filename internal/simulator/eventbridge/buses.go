package eventbridge

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

func (s *Service) createEventBus(ctx context.Context, in *eventbridge.CreateEventBusInput) (*eventbridge.CreateEventBusOutput, error) {
	if err := tagRules.Check(nil, tagMap(in.Tags)); err != nil {
		return nil, err
	}
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := s.makeBus(r, aws.ToString(in.Name))
	if err != nil {
		return nil, err
	}
	b.description, b.deadLetters, b.kmsKey, b.logs = aws.ToString(in.Description), in.DeadLetterConfig, in.KmsKeyIdentifier, in.LogConfig
	b.tags = tagMap(in.Tags)
	return &eventbridge.CreateEventBusOutput{
		EventBusArn: &b.arn, Description: in.Description, DeadLetterConfig: in.DeadLetterConfig,
		KmsKeyIdentifier: in.KmsKeyIdentifier, LogConfig: in.LogConfig,
	}, nil
}

// makeBus creates a bus. The caller holds the lock.
func (s *Service) makeBus(r *region, name string) (*bus, error) {
	if !validName.MatchString(name) || len(name) > 256 || name == defaultBus {
		return nil, validation(
			"Value '%s' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: [/\\.\\-_A-Za-z0-9]+", name,
		)
	}
	if _, ok := r.buses[name]; ok {
		return nil, wire.Errorf("ResourceAlreadyExistsException", "Event bus %s already exists.", name)
	}
	b := s.newBus(r, name)
	r.buses[name] = b
	return b, nil
}

func (s *Service) deleteEventBus(ctx context.Context, in *eventbridge.DeleteEventBusInput) (*eventbridge.DeleteEventBusOutput, error) {
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	return nil, r.removeBus(aws.ToString(in.Name))
}

// removeBus deletes a bus. It succeeds if the bus does not exist. The caller holds the lock.
func (r *region) removeBus(name string) error {
	if name == defaultBus {
		return validation("Cannot delete event bus default.")
	}
	if b, ok := r.buses[name]; ok && len(b.rules) > 0 {
		return validation("Event bus %s can't be deleted since it has rules.", name)
	}
	delete(r.buses, name)
	return nil
}

func (s *Service) describeEventBus(
	ctx context.Context, in *eventbridge.DescribeEventBusInput,
) (out *eventbridge.DescribeEventBusOutput, err error) {
	err = s.withBus(wire.TargetFrom(ctx), in.Name, func(_ *region, b *bus) error {
		out = &eventbridge.DescribeEventBusOutput{
			Name: &b.name, Arn: &b.arn, Description: wire.Optional(b.description), CreationTime: &b.created,
			LastModifiedTime: aws.Time(b.modified),
			DeadLetterConfig: b.deadLetters, KmsKeyIdentifier: b.kmsKey, LogConfig: b.logs, Policy: wire.Optional(b.policy),
		}
		return nil
	})
	return out, err
}

func (s *Service) listEventBuses(ctx context.Context, in *eventbridge.ListEventBusesInput) (*eventbridge.ListEventBusesOutput, error) {
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.RLock()
	defer r.mu.RUnlock()
	names, next := pageSize.Page(withPrefix(r.buses, in.NamePrefix), in.NextToken, in.Limit)
	out := &eventbridge.ListEventBusesOutput{EventBuses: []types.EventBus{}, NextToken: next}
	for _, name := range names {
		b := r.buses[name]
		out.EventBuses = append(out.EventBuses, types.EventBus{
			Name: &b.name, Arn: &b.arn, Description: wire.Optional(b.description), Policy: wire.Optional(b.policy),
			CreationTime: &b.created, LastModifiedTime: aws.Time(b.modified),
		})
	}
	return out, nil
}

func (s *Service) tagResource(ctx context.Context, in *eventbridge.TagResourceInput) (*eventbridge.TagResourceOutput, error) {
	return nil, s.withTags(ctx, in.ResourceARN, func(tags map[string]string) error {
		added := tagMap(in.Tags)
		if err := tagRules.Check(tags, added); err != nil {
			return err
		}
		maps.Copy(tags, added)
		return nil
	})
}

func (s *Service) untagResource(ctx context.Context, in *eventbridge.UntagResourceInput) (*eventbridge.UntagResourceOutput, error) {
	return nil, s.withTags(ctx, in.ResourceARN, func(tags map[string]string) error {
		for _, key := range in.TagKeys {
			delete(tags, key)
		}
		return nil
	})
}

func (s *Service) listTagsForResource(
	ctx context.Context, in *eventbridge.ListTagsForResourceInput,
) (*eventbridge.ListTagsForResourceOutput, error) {
	out := &eventbridge.ListTagsForResourceOutput{Tags: []types.Tag{}}
	err := s.withTags(ctx, in.ResourceARN, func(tags map[string]string) error {
		for _, key := range slices.Sorted(maps.Keys(tags)) {
			out.Tags = append(out.Tags, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
		}
		return nil
	})
	return out, err
}
