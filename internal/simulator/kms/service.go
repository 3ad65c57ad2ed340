package kms

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/google/uuid"

	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Service is the simulated KMS of all accounts and regions.
type Service struct {
	env     *resource.Env
	regions wire.Store[region]
}

type region struct {
	wire.Target

	mu      sync.Mutex
	keys    map[string]*key
	aliases map[string]*alias
}

// key is a symmetric key with its material.
type key struct {
	id, arn, account, description, policy string
	manager                               types.KeyManagerType
	state                                 types.KeyState
	created                               time.Time
	deletion                              *time.Time
	window                                int32
	rotation, multiRegion                 bool
	rotationDays                          int32
	tags                                  map[string]string
	material                              [32]byte
	granted                               []*grant
}

type alias struct {
	name, arn, target string
	created, updated  time.Time
}

// New returns a service without keys.
func New(env *resource.Env) *Service {
	s := &Service{env: env}
	s.regions.New = func(p wire.Target) *region {
		return &region{Target: p, keys: map[string]*key{}, aliases: map[string]*alias{}}
	}
	return s
}

func (s *Service) partition() string { return cmp.Or(s.env.Partition, "aws") }

// Service returns the operations for the wire layer.
func (s *Service) Service() *wire.Service {
	return &wire.Service{
		Name: "kms", Describe: s.access, Protocols: []wire.Protocol{wire.JSON11}, TargetPrefix: "TrentService", APIVersion: "2014-11-01",
		Operations: map[string]wire.Operation{
			"CancelKeyDeletion":               wire.Op(s.cancelKeyDeletion),
			"CreateAlias":                     wire.Op(s.createAlias),
			"CreateGrant":                     wire.Op(s.createGrant),
			"CreateKey":                       wire.Op(s.createKey),
			"Decrypt":                         wire.Op(s.decrypt),
			"DeleteAlias":                     wire.Op(s.deleteAlias),
			"DescribeKey":                     wire.Op(s.describeKey),
			"DisableKey":                      wire.Op(s.disableKey),
			"DisableKeyRotation":              wire.Op(s.disableKeyRotation),
			"EnableKey":                       wire.Op(s.enableKey),
			"EnableKeyRotation":               wire.Op(s.enableKeyRotation),
			"Encrypt":                         wire.Op(s.encrypt),
			"GenerateDataKey":                 wire.Op(s.generateDataKey),
			"GenerateDataKeyWithoutPlaintext": wire.Op(s.generateDataKeyWithoutPlaintext),
			"GenerateRandom":                  wire.Op(s.generateRandom),
			"GetKeyPolicy":                    wire.Op(s.getKeyPolicy),
			"GetKeyRotationStatus":            wire.Op(s.getKeyRotationStatus),
			"ListAliases":                     wire.Op(s.listAliases),
			"ListGrants":                      wire.Op(s.listGrants),
			"ListKeyPolicies":                 wire.Op(s.listKeyPolicies),
			"ListKeys":                        wire.Op(s.listKeys),
			"ListResourceTags":                wire.Op(s.listResourceTags),
			"PutKeyPolicy":                    wire.Op(s.putKeyPolicy),
			"ReEncrypt":                       wire.Op(s.reEncrypt),
			"RetireGrant":                     wire.Op(s.retireGrant),
			"RevokeGrant":                     wire.Op(s.revokeGrant),
			"ScheduleKeyDeletion":             wire.Op(s.scheduleKeyDeletion),
			"TagResource":                     wire.Op(s.tagResource),
			"UntagResource":                   wire.Op(s.untagResource),
			"UpdateAlias":                     wire.Op(s.updateAlias),
			"UpdateKeyDescription":            wire.Op(s.updateKeyDescription),
		},
	}
}

func notFound(format string, args ...any) *wire.Error {
	return wire.Errorf("NotFoundException", format, args...)
}

func invalidState(format string, args ...any) *wire.Error {
	return wire.Errorf("KMSInvalidStateException", format, args...)
}

func validation(format string, args ...any) *wire.Error {
	return wire.Errorf("ValidationException", format, args...)
}

// make creates a key with new material. The caller holds the lock.
func (s *Service) make(r *region, manager types.KeyManagerType) *key {
	k := &key{
		id: uuid.NewString(), account: r.Account, manager: manager, state: types.KeyStateEnabled,
		created: s.env.Clock.Now(), tags: map[string]string{}, rotationDays: 365,
	}
	k.arn = r.ARN(s.partition(), "kms", "key/"+k.id)
	k.policy = `{"Version":"2012-10-17","Id":"key-default-1","Statement":[{"Sid":"Enable IAM User Permissions","Effect":"Allow",` +
		`"Principal":{"AWS":"arn:` + s.partition() + `:iam::` + r.Account + `:root"},"Action":"kms:*","Resource":"*"}]}`
	_, _ = rand.Read(k.material[:]) // never fails, see crypto/rand
	r.keys[k.id] = k
	return k
}

// sweep deletes keys whose deletion is due.
func (s *Service) sweep(r *region) {
	now := s.env.Clock.Now()
	for id, k := range r.keys {
		if k.deletion == nil || k.deletion.After(now) {
			continue
		}
		delete(r.keys, id)
		maps.DeleteFunc(r.aliases, func(_ string, a *alias) bool { return a.target == id })
	}
}

// locate splits a key ID into its account and region, and its ID or alias.
func locate(at wire.Target, id string) (wire.Target, string) {
	parts := strings.SplitN(id, ":", 6)
	if len(parts) != 6 || parts[2] != "kms" {
		return at, id
	}
	return wire.Target{Account: parts[4], Region: parts[3]}, strings.TrimPrefix(parts[5], "key/")
}

// withKey runs fn on a key, by id, ARN, alias or alias ARN, under its region's
// lock, if the caller may call the operation on the key.
func (s *Service) withKey(ctx context.Context, id *string, fn func(*region, *key) error) error {
	call := wire.CallFrom(ctx)
	return s.withKeyAt(wire.TargetFrom(ctx), aws.ToString(id), func(r *region, k *key) error {
		encryption := encryptionOf(ctx)
		keys := direct(call)
		maps.Copy(keys, contextKeys(encryption))
		if err := s.permit(ctx, k, "kms:"+call.Operation, encryption, keys); err != nil {
			return err
		}
		return fn(r, k)
	})
}

type encryptionKey struct{}

// encrypting returns a context with the encryption context of a call, for conditions of policies and
// constraints of grants.
func encrypting(ctx context.Context, encryption map[string]string) context.Context {
	return context.WithValue(ctx, encryptionKey{}, encryption)
}

func encryptionOf(ctx context.Context) map[string]string {
	encryption, _ := ctx.Value(encryptionKey{}).(map[string]string)
	return encryption
}

// direct returns the condition keys of a call that no other service makes.
func direct(call *wire.Call) map[string][]string {
	return map[string][]string{"kms:calleraccount": {call.Account}, "kms:grantisforawsresource": {"false"}}
}

// acting returns the context of a call that needs another permission than that of its operation.
func acting(ctx context.Context, operation string) context.Context {
	call := *wire.CallFrom(ctx)
	call.Operation = operation
	return wire.WithCall(ctx, &call)
}

func (s *Service) withKeyAt(at wire.Target, id string, fn func(*region, *key) error) error {
	where, name := locate(at, id)
	if where.Region != at.Region {
		return notFound("Invalid arn %s", where.Region)
	}
	r := s.regions.At(where)
	r.mu.Lock()
	defer r.mu.Unlock()
	s.sweep(r)
	if strings.HasPrefix(name, "alias/") {
		a, ok := r.aliases[name]
		switch {
		case ok:
			name = a.target
		case strings.HasPrefix(name, "alias/aws/"): // AWS creates it on first use
			k := s.make(r, types.KeyManagerTypeAws)
			s.makeAlias(r, name, k.id)
			name = k.id
		default:
			return notFound("Alias %s is not found.", where.ARN(s.partition(), "kms", name))
		}
	}
	k, ok := r.keys[name]
	if !ok {
		return notFound("Key '%s' does not exist", where.ARN(s.partition(), "kms", "key/"+name))
	}
	return fn(r, k)
}

// usable returns an error for a key that is disabled or whose deletion is scheduled.
func (k *key) usable() error {
	switch k.state {
	case types.KeyStateDisabled:
		return wire.Errorf("DisabledException", "%s is disabled.", k.arn)
	case types.KeyStatePendingDeletion:
		return invalidState("%s is pending deletion.", k.arn)
	default:
		return nil
	}
}

// KeyARN returns the ARN of a usable key by its ID, ARN or alias, for other simulated services. It
// returns the errors of KMS.
func (s *Service) KeyARN(account, regionName, id string) (arn string, err error) {
	err = s.withKeyAt(wire.Target{Account: account, Region: regionName}, id, func(_ *region, k *key) error {
		arn = k.arn
		return k.usable()
	})
	return arn, err
}

func (k *key) metadata() *types.KeyMetadata {
	m := &types.KeyMetadata{
		KeyId: &k.id, Arn: &k.arn, AWSAccountId: &k.account, CreationDate: &k.created, Description: aws.String(k.description),
		Enabled: k.state == types.KeyStateEnabled, KeyState: k.state, KeyManager: k.manager,
		KeyUsage: types.KeyUsageTypeEncryptDecrypt, KeySpec: types.KeySpecSymmetricDefault,
		CustomerMasterKeySpec: types.CustomerMasterKeySpecSymmetricDefault, Origin: types.OriginTypeAwsKms,
		EncryptionAlgorithms: []types.EncryptionAlgorithmSpec{types.EncryptionAlgorithmSpecSymmetricDefault},
		MultiRegion:          aws.Bool(k.multiRegion), DeletionDate: k.deletion,
	}
	return m
}

func (s *Service) makeAlias(r *region, name, target string) {
	now := s.env.Clock.Now()
	r.aliases[name] = &alias{name: name, arn: r.ARN(s.partition(), "kms", name), target: target, created: now, updated: now}
}

// pageSize is the size of a page.
var pageSize = wire.PageSize{Standard: 100, Most: 1000}
