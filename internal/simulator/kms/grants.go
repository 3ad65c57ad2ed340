package kms

import (
	"context"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// grant allows a principal operations with a key.
type grant struct {
	id, name, grantee, retiring, issuer string
	operations                          []types.GrantOperation
	constraints                         *types.GrantConstraints
	created                             time.Time
}

// Use returns an error if the caller of a call to another service may not take an action with a key
// through that service, with an encryption context. Without a caller it returns the errors of the key
// only.
func (s *Service) Use(
	ctx context.Context, action, keyID, via string, encryption map[string]string, more map[string][]string,
) error {
	return s.withKeyAt(wire.TargetFrom(ctx), keyID, func(_ *region, k *key) error {
		if err := k.usable(); err != nil {
			return err
		}
		keys := wire.Via(ctx, via)
		maps.Copy(keys, contextKeys(encryption))
		maps.Copy(keys, more)
		return s.permit(ctx, k, action, encryption, keys)
	})
}

// Managed reports whether a key is one of AWS's own, which all principals of the account may use
// through its service.
// https://docs.aws.amazon.com/kms/latest/developerguide/concepts.html#aws-managed-cmk
func (s *Service) Managed(at wire.Target, keyID string) bool {
	managed := false
	_ = s.withKeyAt(at, keyID, func(_ *region, k *key) error { // a key that does not exist is not
		managed = k.manager == types.KeyManagerTypeAws
		return nil
	})
	return managed
}

// contextKeys returns the condition keys of an encryption context.
// https://docs.aws.amazon.com/kms/latest/developerguide/conditions-kms.html#conditions-kms-encryption-context
func contextKeys(encryption map[string]string) map[string][]string {
	keys := map[string][]string{}
	for name, value := range encryption {
		keys["kms:encryptioncontext:"+strings.ToLower(name)] = []string{value}
	}
	if len(encryption) > 0 {
		keys["kms:encryptioncontextkeys"] = slices.Sorted(maps.Keys(encryption))
	}
	return keys
}

// permit returns an error if the caller may not take an action on a key, by the key's policy, the
// caller's policies and grants.
// https://docs.aws.amazon.com/kms/latest/developerguide/policy-evaluation.html
func (s *Service) permit(
	ctx context.Context, k *key, action string, encryption map[string]string, keys map[string][]string,
) error {
	return wire.Authorize(ctx, action, access.Resource{
		ARN: k.arn, Account: k.account, Policy: wire.ParsePolicy("KeyPolicy", k.policy), Required: true, Tags: k.tags,
		Granted: k.grants(wire.CallFrom(ctx).Caller, action, encryption),
	}, keys)
}

// grants reports whether a grant allows a principal an action.
func (k *key) grants(p *wire.Principal, action string, encryption map[string]string) bool {
	return p != nil && slices.ContainsFunc(k.granted, func(g *grant) bool {
		return slices.Contains([]string{p.ARN, p.Role, iampolicy.RoleOf(p.ARN)}, g.grantee) &&
			slices.Contains(g.operations, types.GrantOperation(strings.TrimPrefix(action, "kms:"))) && g.holds(encryption)
	})
}

// holds reports whether an encryption context meets the constraints of the grant.
func (g *grant) holds(encryption map[string]string) bool {
	if g.constraints == nil {
		return true
	}
	if equals := g.constraints.EncryptionContextEquals; len(equals) > 0 {
		return maps.Equal(equals, encryption)
	}
	for name, value := range g.constraints.EncryptionContextSubset {
		if encryption[name] != value {
			return false
		}
	}
	return true
}

// access returns the policy of a key.
func (s *Service) access(arn string) (found access.Resource) {
	at, id := locate(wire.Target{}, arn)
	_ = s.withKeyAt(at, id, func(_ *region, k *key) error { // a key that does not exist has no policy
		found = access.Resource{
			ARN: k.arn, Account: k.account, Policy: wire.ParsePolicy("KeyPolicy", k.policy), Required: true, Tags: k.tags,
		}
		return nil
	})
	return found
}

func (s *Service) createGrant(ctx context.Context, in *kms.CreateGrantInput) (out *kms.CreateGrantOutput, err error) {
	if aws.ToString(in.GranteePrincipal) == "" || len(in.Operations) == 0 {
		return nil, validation("A grant has a grantee principal and operations.")
	}
	err = s.withKey(ctx, in.KeyId, func(_ *region, k *key) error {
		if err := k.usable(); err != nil {
			return err
		}
		g := &grant{
			id: hex.EncodeToString(random(32)), name: aws.ToString(in.Name), grantee: *in.GranteePrincipal, //nolint:mnd // as in AWS
			retiring: aws.ToString(in.RetiringPrincipal), operations: in.Operations, constraints: in.Constraints,
			created: s.env.Clock.Now(), issuer: wire.CallFrom(ctx).Principal,
		}
		k.granted = append(k.granted, g)
		out = &kms.CreateGrantOutput{GrantId: &g.id, GrantToken: aws.String("AQpA" + g.id)}
		return nil
	})
	return out, err
}

func (s *Service) listGrants(ctx context.Context, in *kms.ListGrantsInput) (out *kms.ListGrantsOutput, err error) {
	err = s.withKey(ctx, in.KeyId, func(_ *region, k *key) error {
		out = &kms.ListGrantsOutput{Grants: []types.GrantListEntry{}}
		for _, g := range k.granted {
			if in.GrantId != nil && *in.GrantId != g.id || in.GranteePrincipal != nil && *in.GranteePrincipal != g.grantee {
				continue
			}
			out.Grants = append(out.Grants, types.GrantListEntry{
				KeyId: &k.arn, GrantId: &g.id, Name: wire.Optional(g.name), GranteePrincipal: &g.grantee, CreationDate: &g.created,
				RetiringPrincipal: wire.Optional(g.retiring), IssuingAccount: wire.Optional(g.issuer), Operations: g.operations,
				Constraints: g.constraints,
			})
		}
		return nil
	})
	return out, err
}

// end removes a grant.
func (k *key) end(id string) error {
	before := len(k.granted)
	k.granted = slices.DeleteFunc(k.granted, func(g *grant) bool { return g.id == id })
	if len(k.granted) == before {
		return notFound("Grant ID %s not found", id)
	}
	return nil
}

func (s *Service) revokeGrant(ctx context.Context, in *kms.RevokeGrantInput) (*kms.RevokeGrantOutput, error) {
	return nil, s.withKey(ctx, in.KeyId, func(_ *region, k *key) error { return k.end(aws.ToString(in.GrantId)) })
}

// retireGrant is allowed by the grant itself for its retiring principal.
// https://docs.aws.amazon.com/kms/latest/APIReference/API_RetireGrant.html
func (s *Service) retireGrant(ctx context.Context, in *kms.RetireGrantInput) (*kms.RetireGrantOutput, error) {
	if in.GrantToken != nil {
		return nil, wire.Errorf("UnsupportedOperationException", "The simulator retires grants by key and grant ID only.")
	}
	who := wire.CallFrom(ctx).Principal
	mine := false
	err := s.withKeyAt(wire.TargetFrom(ctx), aws.ToString(in.KeyId), func(_ *region, k *key) error {
		mine = slices.ContainsFunc(k.granted, func(g *grant) bool {
			return g.id == aws.ToString(in.GrantId) && slices.Contains([]string{who, iampolicy.RoleOf(who)}, g.retiring)
		})
		if mine {
			return k.end(*in.GrantId)
		}
		return nil
	})
	if err != nil || mine {
		return nil, err
	}
	return nil, s.withKey(ctx, in.KeyId, func(_ *region, k *key) error { return k.end(aws.ToString(in.GrantId)) })
}
