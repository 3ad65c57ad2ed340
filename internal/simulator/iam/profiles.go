package iam

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

func (p *profile) describe() *types.InstanceProfile {
	d := &types.InstanceProfile{
		Arn: &p.arn, InstanceProfileName: &p.name, InstanceProfileId: &p.id, Path: &p.path, CreateDate: &p.created,
		Roles: []types.Role{}, Tags: tagList(p.tags),
	}
	if p.role != nil {
		d.Roles = append(d.Roles, *p.role.role())
	}
	return d
}

// addProfile creates an instance profile. The caller holds the lock.
func (s *Service) addProfile(a *account, p profile) (*profile, error) {
	p.path = cmp.Or(p.path, "/")
	if err := checkName("instanceProfileName", p.name, p.path, 128); err != nil {
		return nil, err
	}
	if _, ok := a.profiles[p.name]; ok {
		return nil, exists("Instance Profile %s already exists.", p.name)
	}
	p.arn, p.id, p.created = s.arn(a, "instance-profile", p.path, p.name), "AIPA"+wire.RandomID(17), s.env.Clock.Now()
	a.profiles[p.name] = &p
	return &p, nil
}

// onProfile runs fn on an instance profile of the caller's account.
func (s *Service) onProfile(ctx context.Context, name *string, fn func(*account, *profile) error) error {
	a, unlock := s.locked(ctx)
	defer unlock()
	p, ok := a.profiles[aws.ToString(name)]
	if !ok {
		return noSuch("Instance Profile %s cannot be found.", aws.ToString(name))
	}
	return fn(a, p)
}

func (s *Service) createInstanceProfile(ctx context.Context, in *iam.CreateInstanceProfileInput) (*iam.CreateInstanceProfileOutput, error) {
	if err := checkTags(nil, in.Tags); err != nil {
		return nil, err
	}
	a, unlock := s.locked(ctx)
	defer unlock()
	p, err := s.addProfile(a, profile{name: aws.ToString(in.InstanceProfileName), path: aws.ToString(in.Path), tags: tagMap(in.Tags)})
	if err != nil {
		return nil, err
	}
	p.known = s.propagated()
	return &iam.CreateInstanceProfileOutput{InstanceProfile: p.describe()}, nil
}

func (s *Service) getInstanceProfile(ctx context.Context, in *iam.GetInstanceProfileInput) (out *iam.GetInstanceProfileOutput, err error) {
	err = s.onProfile(ctx, in.InstanceProfileName, func(_ *account, p *profile) error {
		out = &iam.GetInstanceProfileOutput{InstanceProfile: p.describe()}
		return nil
	})
	return out, err
}

func (s *Service) deleteInstanceProfile(ctx context.Context, in *iam.DeleteInstanceProfileInput) (*iam.DeleteInstanceProfileOutput, error) {
	return nil, s.onProfile(ctx, in.InstanceProfileName, func(a *account, p *profile) error {
		if p.role != nil {
			return conflict("Cannot delete entity, must remove roles from instance profile first.")
		}
		delete(a.profiles, p.name)
		return nil
	})
}

// setRole sets the only role of a profile. The caller holds the lock.
func (a *account) setRole(p *profile, name *string) error {
	e, err := a.entity("role", name)
	if err != nil {
		return err
	}
	if p.role != nil {
		return wire.Errorf("LimitExceeded", "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1").WithStatus(409)
	}
	p.role = e
	return nil
}

func (s *Service) addRoleToInstanceProfile(
	ctx context.Context, in *iam.AddRoleToInstanceProfileInput,
) (*iam.AddRoleToInstanceProfileOutput, error) {
	return nil, s.onProfile(ctx, in.InstanceProfileName, func(a *account, p *profile) error {
		p.known = s.propagated()
		return a.setRole(p, in.RoleName)
	})
}

func (s *Service) removeRoleFromInstanceProfile(
	ctx context.Context, in *iam.RemoveRoleFromInstanceProfileInput,
) (*iam.RemoveRoleFromInstanceProfileOutput, error) {
	return nil, s.onProfile(ctx, in.InstanceProfileName, func(_ *account, p *profile) error {
		if p.role == nil || p.role.name != aws.ToString(in.RoleName) {
			return noSuch("The role with name %s cannot be found.", aws.ToString(in.RoleName))
		}
		p.role = nil
		return nil
	})
}

func (s *Service) listInstanceProfiles(ctx context.Context, in *iam.ListInstanceProfilesInput) (*iam.ListInstanceProfilesOutput, error) {
	a, unlock := s.locked(ctx)
	defer unlock()
	var below []string
	for name, p := range a.profiles {
		if strings.HasPrefix(p.path, aws.ToString(in.PathPrefix)) {
			below = append(below, name)
		}
	}
	names, next := pageSize.Page(below, in.Marker, in.MaxItems)
	out := &iam.ListInstanceProfilesOutput{InstanceProfiles: []types.InstanceProfile{}, Marker: next, IsTruncated: next != nil}
	for _, name := range names {
		out.InstanceProfiles = append(out.InstanceProfiles, *a.profiles[name].describe())
	}
	return out, nil
}

func (s *Service) listInstanceProfilesForRole(
	ctx context.Context, in *iam.ListInstanceProfilesForRoleInput,
) (out *iam.ListInstanceProfilesForRoleOutput, err error) {
	err = s.onRole(ctx, in.RoleName, func(a *account, e *entity) error {
		out = &iam.ListInstanceProfilesForRoleOutput{InstanceProfiles: []types.InstanceProfile{}}
		names := keysOf(a.profiles)
		slices.Sort(names)
		for _, name := range names {
			if a.profiles[name].role == e {
				out.InstanceProfiles = append(out.InstanceProfiles, *a.profiles[name].describe())
			}
		}
		return nil
	})
	return out, err
}

func (s *Service) createProvider(
	ctx context.Context, in *iam.CreateOpenIDConnectProviderInput,
) (*iam.CreateOpenIDConnectProviderOutput, error) {
	if err := checkTags(nil, in.Tags); err != nil {
		return nil, err
	}
	a, unlock := s.locked(ctx)
	defer unlock()
	p, err := s.addProvider(a, in)
	if err != nil {
		return nil, err
	}
	return &iam.CreateOpenIDConnectProviderOutput{OpenIDConnectProviderArn: &p.arn, Tags: in.Tags}, nil
}

func (s *Service) onProvider(ctx context.Context, arn *string, fn func(*account, *provider)) error {
	a, unlock := s.locked(ctx)
	defer unlock()
	p, ok := a.providers[aws.ToString(arn)]
	if !ok {
		return noSuch("OpenIDConnect Provider not found for arn %s", aws.ToString(arn))
	}
	fn(a, p)
	return nil
}

func (s *Service) getProvider(
	ctx context.Context, in *iam.GetOpenIDConnectProviderInput,
) (out *iam.GetOpenIDConnectProviderOutput, err error) {
	err = s.onProvider(ctx, in.OpenIDConnectProviderArn, func(_ *account, p *provider) {
		out = &iam.GetOpenIDConnectProviderOutput{
			Url: &p.url, ClientIDList: p.clients, ThumbprintList: p.thumbprints, CreateDate: &p.created, Tags: tagList(p.tags),
		}
	})
	return out, err
}

func (s *Service) deleteProvider(
	ctx context.Context, in *iam.DeleteOpenIDConnectProviderInput,
) (*iam.DeleteOpenIDConnectProviderOutput, error) {
	return nil, s.onProvider(ctx, in.OpenIDConnectProviderArn, func(a *account, p *provider) { delete(a.providers, p.arn) })
}

func (s *Service) listProviders(
	ctx context.Context, _ *iam.ListOpenIDConnectProvidersInput,
) (*iam.ListOpenIDConnectProvidersOutput, error) {
	a, unlock := s.locked(ctx)
	defer unlock()
	out := &iam.ListOpenIDConnectProvidersOutput{OpenIDConnectProviderList: []types.OpenIDConnectProviderListEntry{}}
	arns := keysOf(a.providers)
	slices.Sort(arns)
	for _, arn := range arns {
		out.OpenIDConnectProviderList = append(out.OpenIDConnectProviderList, types.OpenIDConnectProviderListEntry{Arn: aws.String(arn)})
	}
	return out, nil
}

// InstanceProfile is an instance profile with its role, as EC2 sees it.
type InstanceProfile struct {
	// Name, ARN and ID identify the profile.
	Name, ARN, ID string
	// RoleName, RoleARN and RoleID identify its role; empty if it has none.
	RoleName, RoleARN, RoleID string
}

// InstanceProfile returns an instance profile of an account by its name or ARN, for EC2. It reports
// false if the profile does not exist.
func (s *Service) InstanceProfile(accountID, nameOrARN string) (InstanceProfile, bool) {
	name := nameOrARN
	byARN := strings.HasPrefix(nameOrARN, "arn:")
	if byARN {
		name = nameOrARN[strings.LastIndexByte(nameOrARN, '/')+1:]
	}
	a, unlock := s.lock(accountID)
	defer unlock()
	p, ok := a.profiles[name]
	if !ok || byARN && p.arn != nameOrARN || s.env.Clock.Now().Before(p.known) {
		return InstanceProfile{}, false
	}
	found := InstanceProfile{Name: p.name, ARN: p.arn, ID: p.id}
	if p.role != nil {
		found.RoleName, found.RoleARN, found.RoleID = p.role.name, p.role.arn, p.role.id
	}
	return found, true
}
