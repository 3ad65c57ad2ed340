package iam

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

func (e *entity) user() *types.User {
	return &types.User{
		Arn: &e.arn, UserName: &e.name, UserId: &e.id, Path: &e.path, CreateDate: &e.created,
		Tags: tagList(e.tags), PermissionsBoundary: boundary(e.boundary),
	}
}

// onUser runs fn on a user of the caller's account.
func (s *Service) onUser(ctx context.Context, name *string, fn func(*account, *entity) error) error {
	a, unlock := s.locked(ctx)
	defer unlock()
	e, err := a.entity("user", name)
	if err != nil {
		return err
	}
	return fn(a, e)
}

func (s *Service) createUser(ctx context.Context, in *iam.CreateUserInput) (*iam.CreateUserOutput, error) {
	if err := checkTags(nil, in.Tags); err != nil {
		return nil, err
	}
	a, unlock := s.locked(ctx)
	defer unlock()
	e, err := s.add(a, entity{
		kind: "user", name: aws.ToString(in.UserName), path: aws.ToString(in.Path),
		boundary: aws.ToString(in.PermissionsBoundary), tags: tagMap(in.Tags),
	})
	if err != nil {
		return nil, err
	}
	return &iam.CreateUserOutput{User: e.user()}, nil
}

func (s *Service) getUser(ctx context.Context, in *iam.GetUserInput) (out *iam.GetUserOutput, err error) {
	if in.UserName == nil {
		c := wire.CallFrom(ctx)
		if a, unlock := s.locked(ctx); true {
			_, kind, name, ok := splitARN(c.Principal)
			e := a.entities(kind)[name]
			unlock()
			if ok && e != nil && e.kind == "user" {
				return &iam.GetUserOutput{User: e.user()}, nil
			}
		}
		now := s.env.Clock.Now()
		return &iam.GetUserOutput{User: &types.User{
			Arn: &c.Principal, UserId: &c.UserID, UserName: aws.String(c.Principal[strings.LastIndexAny(c.Principal, ":/")+1:]),
			Path: aws.String("/"), CreateDate: &now,
		}}, nil
	}
	err = s.onUser(ctx, in.UserName, func(_ *account, e *entity) error {
		out = &iam.GetUserOutput{User: e.user()}
		return nil
	})
	return out, err
}

func (s *Service) deleteUser(ctx context.Context, in *iam.DeleteUserInput) (*iam.DeleteUserOutput, error) {
	return nil, s.onUser(ctx, in.UserName, func(a *account, e *entity) error { return a.remove(e) })
}

func (s *Service) listUsers(ctx context.Context, in *iam.ListUsersInput) (*iam.ListUsersOutput, error) {
	a, unlock := s.locked(ctx)
	defer unlock()
	names, next := pageSize.Page(below(a.users, in.PathPrefix), in.Marker, in.MaxItems)
	out := &iam.ListUsersOutput{Users: []types.User{}, Marker: next, IsTruncated: next != nil}
	for _, name := range names {
		u := a.users[name].user()
		u.Tags, u.PermissionsBoundary = nil, nil // lists omit them, according to the API reference
		out.Users = append(out.Users, *u)
	}
	return out, nil
}

func (s *Service) createAccessKey(ctx context.Context, in *iam.CreateAccessKeyInput) (out *iam.CreateAccessKeyOutput, err error) {
	err = s.onUser(ctx, in.UserName, func(a *account, e *entity) error {
		if len(e.accessKeys) >= 2 {
			return wire.Errorf("LimitExceeded", "Cannot exceed quota for AccessKeysPerUser: 2").WithStatus(409)
		}
		id, secret := s.keys.Issue("AKIA", wire.Principal{Account: a.id, ARN: e.arn, UserID: e.id})
		now := s.env.Clock.Now()
		e.accessKeys = append(e.accessKeys, types.AccessKeyMetadata{
			AccessKeyId: &id, UserName: &e.name, Status: types.StatusTypeActive, CreateDate: &now,
		})
		out = &iam.CreateAccessKeyOutput{AccessKey: &types.AccessKey{
			AccessKeyId: &id, SecretAccessKey: &secret, UserName: &e.name, Status: types.StatusTypeActive, CreateDate: &now,
		}}
		return nil
	})
	return out, err
}

func (s *Service) deleteAccessKey(ctx context.Context, in *iam.DeleteAccessKeyInput) (*iam.DeleteAccessKeyOutput, error) {
	return nil, s.onUser(ctx, in.UserName, func(_ *account, e *entity) error {
		at := slices.IndexFunc(e.accessKeys, func(k types.AccessKeyMetadata) bool { return *k.AccessKeyId == aws.ToString(in.AccessKeyId) })
		if at < 0 {
			return noSuch("The Access Key with id %s cannot be found.", aws.ToString(in.AccessKeyId))
		}
		s.keys.Revoke(*in.AccessKeyId)
		e.accessKeys = slices.Delete(e.accessKeys, at, at+1)
		return nil
	})
}

func (s *Service) listAccessKeys(ctx context.Context, in *iam.ListAccessKeysInput) (out *iam.ListAccessKeysOutput, err error) {
	err = s.onUser(ctx, in.UserName, func(_ *account, e *entity) error {
		out = &iam.ListAccessKeysOutput{AccessKeyMetadata: append([]types.AccessKeyMetadata{}, e.accessKeys...)}
		return nil
	})
	return out, err
}

func (s *Service) putUserPolicy(ctx context.Context, in *iam.PutUserPolicyInput) (*iam.PutUserPolicyOutput, error) {
	return nil, s.onUser(ctx, in.UserName, func(_ *account, e *entity) error { return e.put(in.PolicyName, in.PolicyDocument) })
}

func (s *Service) getUserPolicy(ctx context.Context, in *iam.GetUserPolicyInput) (out *iam.GetUserPolicyOutput, err error) {
	err = s.onUser(ctx, in.UserName, func(_ *account, e *entity) error {
		document, err := e.document(in.PolicyName)
		out = &iam.GetUserPolicyOutput{UserName: &e.name, PolicyName: in.PolicyName, PolicyDocument: encoded(document)}
		return err
	})
	return out, err
}

func (s *Service) deleteUserPolicy(ctx context.Context, in *iam.DeleteUserPolicyInput) (*iam.DeleteUserPolicyOutput, error) {
	return nil, s.onUser(ctx, in.UserName, func(_ *account, e *entity) error { return e.drop(in.PolicyName) })
}

func (s *Service) listUserPolicies(ctx context.Context, in *iam.ListUserPoliciesInput) (out *iam.ListUserPoliciesOutput, err error) {
	err = s.onUser(ctx, in.UserName, func(_ *account, e *entity) error {
		names, next := pageSize.Page(keysOf(e.inline), in.Marker, in.MaxItems)
		out = &iam.ListUserPoliciesOutput{PolicyNames: append([]string{}, names...), Marker: next, IsTruncated: next != nil}
		return nil
	})
	return out, err
}

func (s *Service) attachUserPolicy(ctx context.Context, in *iam.AttachUserPolicyInput) (*iam.AttachUserPolicyOutput, error) {
	return nil, s.onUser(ctx, in.UserName, func(a *account, e *entity) error { return a.attach(e, aws.ToString(in.PolicyArn)) })
}

func (s *Service) detachUserPolicy(ctx context.Context, in *iam.DetachUserPolicyInput) (*iam.DetachUserPolicyOutput, error) {
	return nil, s.onUser(ctx, in.UserName, func(a *account, e *entity) error { return a.detach(e, aws.ToString(in.PolicyArn)) })
}

func (s *Service) listAttachedUserPolicies(
	ctx context.Context, in *iam.ListAttachedUserPoliciesInput,
) (out *iam.ListAttachedUserPoliciesOutput, err error) {
	err = s.onUser(ctx, in.UserName, func(_ *account, e *entity) error {
		list, next := e.attachments(in.Marker, in.MaxItems)
		out = &iam.ListAttachedUserPoliciesOutput{AttachedPolicies: list, Marker: next, IsTruncated: next != nil}
		return nil
	})
	return out, err
}
