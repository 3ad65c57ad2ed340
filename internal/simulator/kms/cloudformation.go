package kms

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

const (
	keyType   = "AWS::KMS::Key"
	aliasType = "AWS::KMS::Alias"
)

// Providers returns the providers of the CloudFormation types for KMS.
func (s *Service) Providers() map[string]resource.Provider {
	return map[string]resource.Provider{keyType: keyProvider{s}, aliasType: aliasProvider{s}}
}

func handled(err error) error { return property.HandlerError("Kms", err) }

type keyProperties struct {
	Description, KeySpec, KeyUsage, Origin string
	KeyPolicy                              property.Document
	Enabled                                *bool
	EnableKeyRotation, MultiRegion         bool
	PendingWindowInDays                    int32
	RotationPeriodInDays                   int32
	Tags                                   []property.Tag
}

func (p *keyProperties) apply(k *key, r resource.Request) {
	k.description, k.rotation, k.multiRegion = p.Description, p.EnableKeyRotation, p.MultiRegion
	k.rotationDays = cmp.Or(p.RotationPeriodInDays, 365)
	k.tags = property.Tags(r.Tags, p.Tags)
	if p.KeyPolicy != "" {
		k.policy = string(p.KeyPolicy)
	}
	k.state = types.KeyStateEnabled
	if p.Enabled != nil && !*p.Enabled {
		k.state = types.KeyStateDisabled
	}
}

func keyResult(k *key) resource.Result {
	return resource.Result{PhysicalID: k.id, Attributes: map[string]any{"Arn": k.arn, "KeyId": k.id}}
}

type keyProvider struct{ s *Service }

// Create creates a key.
func (p keyProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	var props keyProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return resource.Result{}, err
	}
	if err := checkKind(types.KeySpec(props.KeySpec), types.KeyUsageType(props.KeyUsage), types.OriginType(props.Origin)); err != nil {
		return resource.Result{}, handled(err)
	}
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	k := p.s.make(reg, types.KeyManagerTypeCustomer)
	props.apply(k, r)
	return keyResult(k), nil
}

// live runs fn on the key. For CloudFormation a key whose deletion is scheduled does not exist.
func (p keyProvider) live(r resource.Request, fn func(*key) error) error {
	return handled(p.s.withKeyAt(r.Target(), r.PhysicalID, func(_ *region, k *key) error {
		if k.state == types.KeyStatePendingDeletion {
			return property.Missing(keyType, k.id)
		}
		return fn(k)
	}))
}

// Update changes a key.
func (p keyProvider) Update(_ context.Context, r resource.Request) (result resource.Result, err error) {
	var props keyProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return result, err
	}
	err = p.live(r, func(k *key) error {
		props.apply(k, r)
		result = keyResult(k)
		return nil
	})
	return result, err
}

// Delete schedules a key's deletion.
func (p keyProvider) Delete(_ context.Context, r resource.Request) error {
	var props keyProperties
	if err := property.Decode(r.Properties, &props); err != nil {
		return err
	}
	return p.live(r, func(k *key) error { return p.s.schedule(k, cmp.Or(props.PendingWindowInDays, 30)) })
}

// List returns the IDs of the keys, also of those that belong to AWS.
func (p keyProvider) List(_ context.Context, at wire.Target) ([]string, error) {
	r := p.s.regions.At(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	p.s.sweep(r)
	return slices.Collect(maps.Keys(r.keys)), nil
}

// Read returns a key's properties.
func (p keyProvider) Read(_ context.Context, r resource.Request) (props map[string]any, err error) {
	err = p.live(r, func(k *key) error {
		var policy any
		if err := json.Unmarshal([]byte(k.policy), &policy); err != nil {
			policy = k.policy
		}
		props = map[string]any{
			"KeyId": k.id, "Arn": k.arn, "Description": k.description, "KeyPolicy": policy, "Enabled": k.state == types.KeyStateEnabled,
			"EnableKeyRotation": k.rotation, "MultiRegion": k.multiRegion, "KeySpec": "SYMMETRIC_DEFAULT", "KeyUsage": "ENCRYPT_DECRYPT",
			"Origin": "AWS_KMS", "Tags": property.TagList(k.tags),
		}
		return nil
	})
	return props, err
}

type aliasProperties struct{ AliasName, TargetKeyID string }

func decodeAlias(r resource.Request) (p aliasProperties, err error) {
	var props struct {
		AliasName   string
		TargetKeyID string `cfn:"TargetKeyId"`
	}
	err = property.Decode(r.Properties, &props)
	return aliasProperties(props), err
}

type aliasProvider struct{ s *Service }

// Create creates an alias.
func (p aliasProvider) Create(_ context.Context, r resource.Request) (resource.Result, error) {
	props, err := decodeAlias(r)
	if err != nil {
		return resource.Result{}, err
	}
	err = p.s.withKeyAt(r.Target(), props.TargetKeyID, func(reg *region, k *key) error {
		return p.s.addAlias(reg, props.AliasName, k)
	})
	return resource.Result{PhysicalID: props.AliasName, Attributes: map[string]any{}}, handled(err)
}

// Update points an alias at another key.
func (p aliasProvider) Update(_ context.Context, r resource.Request) (resource.Result, error) {
	props, err := decodeAlias(r)
	if err != nil {
		return resource.Result{}, err
	}
	err = p.s.withKeyAt(r.Target(), props.TargetKeyID, func(reg *region, k *key) error {
		a, ok := reg.aliases[r.PhysicalID]
		if !ok {
			return property.Missing(aliasType, r.PhysicalID)
		}
		a.target, a.updated = k.id, p.s.env.Clock.Now()
		return nil
	})
	return resource.Result{PhysicalID: r.PhysicalID, Attributes: map[string]any{}}, handled(err)
}

// Delete deletes an alias.
func (p aliasProvider) Delete(_ context.Context, r resource.Request) error {
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	return handled(p.s.removeAlias(reg, r.PhysicalID))
}

// List returns the names of the aliases.
func (p aliasProvider) List(_ context.Context, at wire.Target) ([]string, error) {
	r := p.s.regions.At(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	p.s.sweep(r)
	return slices.Collect(maps.Keys(r.aliases)), nil
}

// Read returns an alias's properties.
func (p aliasProvider) Read(_ context.Context, r resource.Request) (map[string]any, error) {
	reg := p.s.regions.At(r.Target())
	reg.mu.Lock()
	defer reg.mu.Unlock()
	a, ok := reg.aliases[r.PhysicalID]
	if !ok {
		return nil, property.Missing(aliasType, r.PhysicalID)
	}
	return map[string]any{"AliasName": a.name, "TargetKeyId": a.target}, nil
}
