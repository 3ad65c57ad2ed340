package kms

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// tagRules are the errors for tags. AWS's answers to reserved keys, to too many tags and to a key
// given twice are on record, with their words; those to the lengths are not.
// https://docs.aws.amazon.com/kms/latest/APIReference/API_TagResource.html
// https://github.com/localstack/localstack/pull/12142
var tagRules = tagging.Rules{
	Reserved: tagging.Refusal{Code: "TagException", Message: "Tags beginning with aws: are reserved"},
	Key:      tagging.LongKey("ValidationException", "tagKey"),
	Value:    tagging.LongValue("ValidationException", "tagValue"),
	TooMany:  tagging.Refusal{Code: "TagException", Message: "Too many tags"},
}

func checkTags(has map[string]string, added []types.Tag) error {
	tags := tagMap(added)
	if len(tags) < len(added) {
		return wire.Errorf("TagException", "Duplicate tag keys")
	}
	return tagRules.Check(has, tags)
}

func tagMap(tags []types.Tag) map[string]string {
	m := map[string]string{}
	for _, t := range tags {
		m[aws.ToString(t.TagKey)] = aws.ToString(t.TagValue)
	}
	return m
}

// checkKind rejects unsupported kinds of keys.
func checkKind(spec types.KeySpec, usage types.KeyUsageType, origin types.OriginType) error {
	if spec != "" && spec != types.KeySpecSymmetricDefault || usage != "" && usage != types.KeyUsageTypeEncryptDecrypt ||
		origin != "" && origin != types.OriginTypeAwsKms {
		return wire.Errorf(
			"UnsupportedOperationException",
			"The simulator has symmetric encryption keys with material of its own only, not %s %s %s.",
			spec,
			usage,
			origin,
		)
	}
	return nil
}

// The limits of keys. A key policy has 32 KB; no words of AWS are on record.
// https://docs.aws.amazon.com/kms/latest/developerguide/resource-limits.html
// https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateAlias.html
// https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateKey.html
const (
	maxPolicy      = 32768
	maxAliases     = 50 // per key
	maxAlias       = 256
	maxDescription = 8192
)

func checkDescription(text string) error {
	if utf8.RuneCountInString(text) > maxDescription {
		return validation(
			"1 validation error detected: Value at 'description' failed to satisfy constraint: Member must have length less than or equal to %d",
			maxDescription,
		)
	}
	return nil
}

// checkPolicy validates a key policy. Its principals must exist and be visible to KMS.
// https://docs.aws.amazon.com/kms/latest/APIReference/API_PutKeyPolicy.html
func (s *Service) checkPolicy(policy string) error {
	switch {
	case len(policy) > maxPolicy:
		return wire.Errorf("LimitExceededException", "The key policy is larger than %d bytes.", maxPolicy)
	case !json.Valid([]byte(policy)):
		return wire.Errorf("MalformedPolicyDocumentException", "The new key policy is not valid JSON.")
	case !s.env.KnowsPrincipals(policy):
		return wire.Errorf("MalformedPolicyDocumentException", "Policy contains a statement with one or more invalid principals.")
	}
	return nil
}

func (s *Service) createKey(ctx context.Context, in *kms.CreateKeyInput) (*kms.CreateKeyOutput, error) {
	spec := in.KeySpec
	if spec == "" {
		spec = types.KeySpec(in.CustomerMasterKeySpec) // older clients send this member
	}
	if err := checkKind(spec, in.KeyUsage, in.Origin); err != nil {
		return nil, err
	}
	if in.Policy != nil {
		if err := s.checkPolicy(*in.Policy); err != nil {
			return nil, err
		}
	}
	if err := checkTags(nil, in.Tags); err != nil {
		return nil, err
	}
	if err := checkDescription(aws.ToString(in.Description)); err != nil {
		return nil, err
	}
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	k := s.make(r, types.KeyManagerTypeCustomer)
	k.description, k.multiRegion, k.tags = aws.ToString(in.Description), aws.ToBool(in.MultiRegion), tagMap(in.Tags)
	if in.Policy != nil {
		k.policy = *in.Policy
	}
	return &kms.CreateKeyOutput{KeyMetadata: k.metadata()}, nil
}

func (s *Service) describeKey(ctx context.Context, in *kms.DescribeKeyInput) (out *kms.DescribeKeyOutput, err error) {
	err = s.withKey(ctx, in.KeyId, func(_ *region, k *key) error {
		out = &kms.DescribeKeyOutput{KeyMetadata: k.metadata()}
		return nil
	})
	return out, err
}

func (s *Service) listKeys(ctx context.Context, in *kms.ListKeysInput) (*kms.ListKeysOutput, error) {
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	s.sweep(r)
	ids, next := pageSize.Page(slices.Collect(maps.Keys(r.keys)), in.Marker, in.Limit)
	out := &kms.ListKeysOutput{Keys: []types.KeyListEntry{}, NextMarker: next, Truncated: next != nil}
	for _, id := range ids {
		out.Keys = append(out.Keys, types.KeyListEntry{KeyId: &r.keys[id].id, KeyArn: &r.keys[id].arn})
	}
	return out, nil
}

// setState enables or disables a key.
func (s *Service) setState(ctx context.Context, id *string, state types.KeyState) error {
	return s.withKey(ctx, id, func(_ *region, k *key) error {
		if k.state == types.KeyStatePendingDeletion {
			return k.usable()
		}
		k.state = state
		return nil
	})
}

func (s *Service) enableKey(ctx context.Context, in *kms.EnableKeyInput) (*kms.EnableKeyOutput, error) {
	return nil, s.setState(ctx, in.KeyId, types.KeyStateEnabled)
}

func (s *Service) disableKey(ctx context.Context, in *kms.DisableKeyInput) (*kms.DisableKeyOutput, error) {
	return nil, s.setState(ctx, in.KeyId, types.KeyStateDisabled)
}

// schedule schedules a key's deletion.
// https://docs.aws.amazon.com/kms/latest/APIReference/API_ScheduleKeyDeletion.html
func (s *Service) schedule(k *key, days int32) error {
	if days < 7 || days > 30 {
		return validation(
			"1 validation error detected: Value '%d' at 'pendingWindowInDays' failed to satisfy constraint: Member must have value between 7 and 30",
			days,
		)
	}
	if k.state == types.KeyStatePendingDeletion {
		return k.usable()
	}
	due := s.env.Clock.Now().Add(time.Duration(days) * 24 * time.Hour)
	k.state, k.deletion, k.window = types.KeyStatePendingDeletion, &due, days
	return nil
}

func (s *Service) scheduleKeyDeletion(
	ctx context.Context, in *kms.ScheduleKeyDeletionInput,
) (out *kms.ScheduleKeyDeletionOutput, err error) {
	days := int32(30)
	if in.PendingWindowInDays != nil {
		days = *in.PendingWindowInDays
	}
	err = s.withKey(ctx, in.KeyId, func(_ *region, k *key) error {
		if err := s.schedule(k, days); err != nil {
			return err
		}
		out = &kms.ScheduleKeyDeletionOutput{
			KeyId:               &k.arn,
			DeletionDate:        k.deletion,
			KeyState:            k.state,
			PendingWindowInDays: aws.Int32(k.window),
		}
		return nil
	})
	return out, err
}

func (s *Service) cancelKeyDeletion(ctx context.Context, in *kms.CancelKeyDeletionInput) (out *kms.CancelKeyDeletionOutput, err error) {
	err = s.withKey(ctx, in.KeyId, func(_ *region, k *key) error {
		if k.state != types.KeyStatePendingDeletion {
			return invalidState("%s is not pending deletion.", k.arn)
		}
		k.state, k.deletion = types.KeyStateDisabled, nil
		out = &kms.CancelKeyDeletionOutput{KeyId: &k.arn}
		return nil
	})
	return out, err
}

func (s *Service) updateKeyDescription(ctx context.Context, in *kms.UpdateKeyDescriptionInput) (*kms.UpdateKeyDescriptionOutput, error) {
	if err := checkDescription(aws.ToString(in.Description)); err != nil {
		return nil, err
	}
	return nil, s.withKey(ctx, in.KeyId, func(_ *region, k *key) error {
		k.description = aws.ToString(in.Description)
		return nil
	})
}

func (s *Service) enableKeyRotation(ctx context.Context, in *kms.EnableKeyRotationInput) (*kms.EnableKeyRotationOutput, error) {
	return nil, s.withKey(ctx, in.KeyId, func(_ *region, k *key) error {
		k.rotation = true
		if in.RotationPeriodInDays != nil {
			k.rotationDays = *in.RotationPeriodInDays
		}
		return k.usable()
	})
}

func (s *Service) disableKeyRotation(ctx context.Context, in *kms.DisableKeyRotationInput) (*kms.DisableKeyRotationOutput, error) {
	return nil, s.withKey(ctx, in.KeyId, func(_ *region, k *key) error {
		k.rotation = false
		return k.usable()
	})
}

func (s *Service) getKeyRotationStatus(
	ctx context.Context, in *kms.GetKeyRotationStatusInput,
) (out *kms.GetKeyRotationStatusOutput, err error) {
	err = s.withKey(ctx, in.KeyId, func(_ *region, k *key) error {
		out = &kms.GetKeyRotationStatusOutput{KeyId: &k.arn, KeyRotationEnabled: k.rotation}
		if k.rotation {
			out.RotationPeriodInDays = aws.Int32(k.rotationDays)
		}
		return nil
	})
	return out, err
}

func (s *Service) getKeyPolicy(ctx context.Context, in *kms.GetKeyPolicyInput) (out *kms.GetKeyPolicyOutput, err error) {
	err = s.withKey(ctx, in.KeyId, func(_ *region, k *key) error {
		out = &kms.GetKeyPolicyOutput{Policy: aws.String(k.policy), PolicyName: aws.String("default")}
		return nil
	})
	return out, err
}

func (s *Service) putKeyPolicy(ctx context.Context, in *kms.PutKeyPolicyInput) (*kms.PutKeyPolicyOutput, error) {
	return nil, s.withKey(ctx, in.KeyId, func(_ *region, k *key) error {
		if err := s.checkPolicy(aws.ToString(in.Policy)); err != nil {
			return err
		}
		k.policy = *in.Policy
		return nil
	})
}

func (s *Service) listKeyPolicies(ctx context.Context, in *kms.ListKeyPoliciesInput) (*kms.ListKeyPoliciesOutput, error) {
	return &kms.ListKeyPoliciesOutput{PolicyNames: []string{"default"}},
		s.withKey(ctx, in.KeyId, func(*region, *key) error { return nil })
}

func (s *Service) tagResource(ctx context.Context, in *kms.TagResourceInput) (*kms.TagResourceOutput, error) {
	return nil, s.withKey(ctx, in.KeyId, func(_ *region, k *key) error {
		if err := checkTags(k.tags, in.Tags); err != nil {
			return err
		}
		maps.Copy(k.tags, tagMap(in.Tags))
		return nil
	})
}

func (s *Service) untagResource(ctx context.Context, in *kms.UntagResourceInput) (*kms.UntagResourceOutput, error) {
	return nil, s.withKey(ctx, in.KeyId, func(_ *region, k *key) error {
		for _, name := range in.TagKeys {
			delete(k.tags, name)
		}
		return nil
	})
}

func (s *Service) listResourceTags(ctx context.Context, in *kms.ListResourceTagsInput) (*kms.ListResourceTagsOutput, error) {
	out := &kms.ListResourceTagsOutput{Tags: []types.Tag{}}
	return out, s.withKey(ctx, in.KeyId, func(_ *region, k *key) error {
		for _, name := range slices.Sorted(maps.Keys(k.tags)) {
			out.Tags = append(out.Tags, types.Tag{TagKey: aws.String(name), TagValue: aws.String(k.tags[name])})
		}
		return nil
	})
}

var validAlias = lazyregexp.New(`^[a-zA-Z0-9:/_-]+$`)

// aliasesOf returns the names of a key's aliases.
func (r *region) aliasesOf(k *key) []string {
	var names []string
	for name, a := range r.aliases {
		if a.target == k.id {
			names = append(names, name)
		}
	}
	return names
}

// addAlias creates an alias of a key. The caller holds the lock.
func (s *Service) addAlias(r *region, name string, k *key) error {
	if !strings.HasPrefix(name, "alias/") || strings.HasPrefix(name, "alias/aws/") || name == "alias/" {
		return wire.Errorf(
			"InvalidAliasNameException",
			"Alias must start with the prefix \"alias/\". Please see https://docs.aws.amazon.com/kms/latest/developerguide/kms-alias.html",
		)
	}
	if len(name) > maxAlias || !validAlias.MatchString(name) {
		return validation(
			"1 validation error detected: Value '%s' at 'aliasName' failed to satisfy constraint: Member must have length less than or equal to %d and satisfy regular expression pattern: ^[a-zA-Z0-9:/_-]+$",
			name,
			maxAlias,
		)
	}
	if a, ok := r.aliases[name]; ok {
		return wire.Errorf("AlreadyExistsException", "An alias with the name %s already exists", a.arn)
	}
	if len(r.aliasesOf(k)) >= maxAliases {
		return wire.Errorf("LimitExceededException", "The key %s has %d aliases already.", k.arn, maxAliases)
	}
	s.makeAlias(r, name, k.id)
	return nil
}

func (s *Service) createAlias(ctx context.Context, in *kms.CreateAliasInput) (*kms.CreateAliasOutput, error) {
	return nil, s.withKey(ctx, in.TargetKeyId, func(r *region, k *key) error {
		if k.state == types.KeyStatePendingDeletion {
			return k.usable()
		}
		return s.addAlias(r, aws.ToString(in.AliasName), k)
	})
}

func (s *Service) updateAlias(ctx context.Context, in *kms.UpdateAliasInput) (*kms.UpdateAliasOutput, error) {
	return nil, s.withKey(ctx, in.TargetKeyId, func(r *region, k *key) error {
		a, ok := r.aliases[aws.ToString(in.AliasName)]
		if !ok {
			return notFound("Alias %s is not found.", r.ARN(s.partition(), "kms", aws.ToString(in.AliasName)))
		}
		a.target, a.updated = k.id, s.env.Clock.Now()
		return nil
	})
}

func (s *Service) deleteAlias(ctx context.Context, in *kms.DeleteAliasInput) (*kms.DeleteAliasOutput, error) {
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	return nil, s.removeAlias(r, aws.ToString(in.AliasName))
}

func (s *Service) removeAlias(r *region, name string) error {
	if _, ok := r.aliases[name]; !ok {
		return notFound("Alias %s is not found.", r.ARN(s.partition(), "kms", name))
	}
	delete(r.aliases, name)
	return nil
}

func (s *Service) listAliases(ctx context.Context, in *kms.ListAliasesInput) (*kms.ListAliasesOutput, error) {
	r := s.regions.At(wire.TargetFrom(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	s.sweep(r)
	names := slices.Collect(maps.Keys(r.aliases))
	if in.KeyId != nil {
		_, id := locate(r.Target, *in.KeyId)
		names = slices.DeleteFunc(names, func(name string) bool { return r.aliases[name].target != id })
	}
	names, next := pageSize.Page(names, in.Marker, in.Limit)
	out := &kms.ListAliasesOutput{Aliases: []types.AliasListEntry{}, NextMarker: next, Truncated: next != nil}
	for _, name := range names {
		a := r.aliases[name]
		out.Aliases = append(out.Aliases, types.AliasListEntry{
			AliasName: &a.name, AliasArn: &a.arn, TargetKeyId: aws.String(a.target), CreationDate: &a.created,
			LastUpdatedDate: aws.Time(a.updated),
		})
	}
	return out, nil
}
