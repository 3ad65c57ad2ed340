package iam

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Service is the simulated IAM of all accounts.
type Service struct {
	env      *resource.Env
	keys     *wire.Keys
	accounts wire.Store[account]
}

// account holds the IAM resources of one account.
type account struct {
	id string

	mu        sync.Mutex
	roles     map[string]*entity
	users     map[string]*entity
	policies  map[string]*policy // by ARN
	profiles  map[string]*profile
	providers map[string]*provider // by ARN
}

// entity is a role or a user.
type entity struct {
	kind                string // "role" or "user"
	name, path, arn, id string
	description, trust  string
	boundary            string
	maxSession          int32
	created             time.Time
	tags                map[string]string
	inline              map[string]string
	attached            []string
	accessKeys          []types.AccessKeyMetadata
	// known is when other services know it.
	known time.Time
}

// policy is a customer managed policy with its versions.
type policy struct {
	name, path, arn, id, description string
	created, updated                 time.Time
	tags                             map[string]string
	versions                         []types.PolicyVersion
	next                             int
}

type profile struct {
	name, path, arn, id string
	created             time.Time
	role                *entity
	tags                map[string]string
	// known is when other services know it and its role.
	known time.Time
}

// provider is an OpenID Connect provider.
type provider struct {
	arn, url             string
	clients, thumbprints []string
	created              time.Time
	tags                 map[string]string
}

// New returns the service. It issues users' access keys to keys.
func New(env *resource.Env, keys *wire.Keys) *Service {
	s := &Service{env: env, keys: keys}
	s.accounts.New = func(p wire.Target) *account {
		return &account{
			id: p.Account, roles: map[string]*entity{}, users: map[string]*entity{}, policies: map[string]*policy{},
			profiles: map[string]*profile{}, providers: map[string]*provider{},
		}
	}
	return s
}

func (s *Service) partition() string { return cmp.Or(s.env.Partition, "aws") }

// locked returns the caller's account, locked, and a function that unlocks it.
func (s *Service) locked(ctx context.Context) (*account, func()) {
	return s.lock(wire.CallFrom(ctx).Account)
}

func (s *Service) lock(id string) (*account, func()) {
	a := s.accounts.At(wire.Target{Account: id})
	a.mu.Lock()
	return a, a.mu.Unlock
}

func (s *Service) arn(a *account, kind, path, name string) string {
	return "arn:" + s.partition() + ":iam::" + a.id + ":" + kind + path + name
}

func noSuch(format string, args ...any) *wire.Error {
	return wire.Errorf("NoSuchEntity", format, args...).WithStatus(http.StatusNotFound)
}

func exists(format string, args ...any) *wire.Error {
	return wire.Errorf("EntityAlreadyExists", format, args...).WithStatus(http.StatusConflict)
}

func conflict(message string) *wire.Error {
	return wire.Errorf("DeleteConflict", "%s", message).WithStatus(http.StatusConflict)
}

func validation(format string, args ...any) *wire.Error {
	return wire.Errorf("ValidationError", format, args...)
}

var (
	validName = lazyregexp.New(`^[\w+=,.@-]{1,128}$`)
	validPath = lazyregexp.New(`^/([!-~]+/)?$`)
)

// checkName validates a name and a path by IAM's rules.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
func checkName(member, name, path string, limit int) error {
	if !validName.MatchString(name) {
		return validation(
			"The specified value for %s is invalid. It must contain only alphanumeric characters and/or the following: +=,.@_-", member,
		)
	}
	if len(name) > limit {
		return validation(
			"1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must have length less than or equal to %d",
			name,
			member,
			limit,
		)
	}
	if !validPath.MatchString(path) {
		return validation(
			"The specified value for path is invalid. It must begin and end with / and contain only alphanumeric characters and/or / characters.",
		)
	}
	return nil
}

// entities returns the account's roles or users.
func (a *account) entities(kind string) map[string]*entity {
	if kind == "user" {
		return a.users
	}
	return a.roles
}

func (a *account) entity(kind string, name *string) (*entity, error) {
	e, ok := a.entities(kind)[aws.ToString(name)]
	if !ok {
		return nil, noSuch("The %s with name %s cannot be found.", kind, aws.ToString(name))
	}
	return e, nil
}

// add creates a role or user. The caller holds the lock.
func (s *Service) add(a *account, e entity) (*entity, error) {
	e.path = cmp.Or(e.path, "/")
	if err := checkName(e.kind+"Name", e.name, e.path, 64); err != nil {
		return nil, err
	}
	if _, ok := a.entities(e.kind)[e.name]; ok {
		return nil, exists("%s with name %s already exists.", strings.ToUpper(e.kind[:1])+e.kind[1:], e.name)
	}
	if e.kind == "role" {
		if err := checkTrust(e.trust); err != nil {
			return nil, err
		}
		e.maxSession = cmp.Or(e.maxSession, 3600)
		e.id = "AROA" + wire.RandomID(17)
	} else {
		e.id = "AIDA" + wire.RandomID(17)
	}
	e.arn, e.created, e.inline = s.arn(a, e.kind, e.path, e.name), s.env.Clock.Now(), map[string]string{}
	if e.tags == nil {
		e.tags = map[string]string{}
	}
	a.entities(e.kind)[e.name] = &e
	return &e, nil
}

// remove deletes a role or user without dependents. The caller holds the lock.
func (a *account) remove(e *entity) error {
	switch {
	case len(e.attached) > 0:
		return conflict("Cannot delete entity, must detach all policies first.")
	case len(e.inline) > 0:
		return conflict("Cannot delete entity, must delete policies first.")
	case len(e.accessKeys) > 0:
		return conflict("Cannot delete entity, must delete access keys first.")
	}
	for _, p := range a.profiles {
		if p.role == e {
			return conflict("Cannot delete entity, must remove roles from instance profile first.")
		}
	}
	delete(a.entities(e.kind), e.name)
	return nil
}

// attach adds a managed policy, which must exist. The caller holds the lock.
func (a *account) attach(e *entity, arn string) error {
	if _, ok := a.policies[arn]; !ok && !strings.Contains(arn, ":iam::aws:policy/") {
		return noSuch("Policy %s does not exist or is not attachable.", arn)
	}
	if slices.Contains(e.attached, arn) {
		return nil
	}
	if len(e.attached) >= attachedPolicies {
		return overQuota("Cannot exceed quota for PoliciesPer%s: %d", strings.ToUpper(e.kind[:1])+e.kind[1:], attachedPolicies)
	}
	e.attached = append(e.attached, arn)
	return nil
}

func (a *account) detach(e *entity, arn string) error {
	if !slices.Contains(e.attached, arn) {
		return noSuch("Policy %s was not found.", arn)
	}
	e.attached = slices.DeleteFunc(e.attached, func(o string) bool { return o == arn })
	return nil
}

func tagMap(tags []types.Tag) map[string]string {
	m := map[string]string{}
	for _, t := range tags {
		m[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return m
}

func tagList(tags map[string]string) []types.Tag {
	list := []types.Tag{}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return list
}

func keysOf[V any](m map[string]V) []string { return slices.Collect(maps.Keys(m)) }

// pageSize is the size of a page.
var pageSize = wire.PageSize{Standard: 100, Most: 1000}
