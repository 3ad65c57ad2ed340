package iam

import (
	"context"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// encoded returns a document in IAM's form, which is percent-encoded.
func encoded(document string) *string {
	return aws.String(strings.ReplaceAll(url.QueryEscape(document), "+", "%20"))
}

func boundary(arn string) *types.AttachedPermissionsBoundary {
	if arn == "" {
		return nil
	}
	return &types.AttachedPermissionsBoundary{
		PermissionsBoundaryArn:  &arn,
		PermissionsBoundaryType: types.PermissionsBoundaryAttachmentTypePolicy,
	}
}

func (e *entity) role() *types.Role {
	return &types.Role{
		Arn: &e.arn, RoleName: &e.name, RoleId: &e.id, Path: &e.path, CreateDate: &e.created, Description: wire.Optional(e.description),
		AssumeRolePolicyDocument: encoded(e.trust), MaxSessionDuration: aws.Int32(e.maxSession), Tags: tagList(e.tags),
		PermissionsBoundary: boundary(e.boundary), RoleLastUsed: &types.RoleLastUsed{},
	}
}

// onRole runs fn on a role of the caller's account.
func (s *Service) onRole(ctx context.Context, name *string, fn func(*account, *entity) error) error {
	a, unlock := s.locked(ctx)
	defer unlock()
	e, err := a.entity("role", name)
	if err != nil {
		return err
	}
	return fn(a, e)
}

func (s *Service) createRole(ctx context.Context, in *iam.CreateRoleInput) (*iam.CreateRoleOutput, error) {
	if err := checkTags(nil, in.Tags); err != nil {
		return nil, err
	}
	a, unlock := s.locked(ctx)
	defer unlock()
	e, err := s.add(a, entity{
		kind: "role", name: aws.ToString(in.RoleName), path: aws.ToString(in.Path), description: aws.ToString(in.Description),
		trust: aws.ToString(in.AssumeRolePolicyDocument), maxSession: aws.ToInt32(in.MaxSessionDuration),
		boundary: aws.ToString(in.PermissionsBoundary), tags: tagMap(in.Tags),
	})
	if err != nil {
		return nil, err
	}
	e.known = s.propagated()
	return &iam.CreateRoleOutput{Role: e.role()}, nil
}

func (s *Service) getRole(ctx context.Context, in *iam.GetRoleInput) (out *iam.GetRoleOutput, err error) {
	err = s.onRole(ctx, in.RoleName, func(_ *account, e *entity) error {
		out = &iam.GetRoleOutput{Role: e.role()}
		return nil
	})
	return out, err
}

func (s *Service) deleteRole(ctx context.Context, in *iam.DeleteRoleInput) (*iam.DeleteRoleOutput, error) {
	return nil, s.onRole(ctx, in.RoleName, func(a *account, e *entity) error { return a.remove(e) })
}

func (s *Service) updateRole(ctx context.Context, in *iam.UpdateRoleInput) (*iam.UpdateRoleOutput, error) {
	return nil, s.onRole(ctx, in.RoleName, func(_ *account, e *entity) error {
		if in.Description != nil {
			e.description = *in.Description
		}
		if in.MaxSessionDuration != nil {
			e.maxSession = *in.MaxSessionDuration
		}
		return nil
	})
}

func (s *Service) updateAssumeRolePolicy(
	ctx context.Context, in *iam.UpdateAssumeRolePolicyInput,
) (*iam.UpdateAssumeRolePolicyOutput, error) {
	return nil, s.onRole(ctx, in.RoleName, func(_ *account, e *entity) error {
		if err := checkTrust(aws.ToString(in.PolicyDocument)); err != nil {
			return err
		}
		e.trust = *in.PolicyDocument
		return nil
	})
}

func (s *Service) listRoles(ctx context.Context, in *iam.ListRolesInput) (*iam.ListRolesOutput, error) {
	a, unlock := s.locked(ctx)
	defer unlock()
	names, next := pageSize.Page(below(a.roles, in.PathPrefix), in.Marker, in.MaxItems)
	out := &iam.ListRolesOutput{Roles: []types.Role{}, Marker: next, IsTruncated: next != nil}
	for _, name := range names {
		r := a.roles[name].role()
		r.Tags, r.RoleLastUsed, r.PermissionsBoundary = nil, nil, nil // lists omit them, according to the API reference
		out.Roles = append(out.Roles, *r)
	}
	return out, nil
}

// below returns the names of the entities whose path has the prefix.
func below(all map[string]*entity, prefix *string) []string {
	var names []string
	for name, e := range all {
		if strings.HasPrefix(e.path, aws.ToString(prefix)) {
			names = append(names, name)
		}
	}
	return names
}

func (s *Service) tagRole(ctx context.Context, in *iam.TagRoleInput) (*iam.TagRoleOutput, error) {
	return nil, s.onRole(ctx, in.RoleName, func(_ *account, e *entity) error { return e.setTags(in.Tags) })
}

func (s *Service) untagRole(ctx context.Context, in *iam.UntagRoleInput) (*iam.UntagRoleOutput, error) {
	return nil, s.onRole(ctx, in.RoleName, func(_ *account, e *entity) error {
		for _, key := range in.TagKeys {
			delete(e.tags, key)
		}
		return nil
	})
}

func (s *Service) listRoleTags(ctx context.Context, in *iam.ListRoleTagsInput) (out *iam.ListRoleTagsOutput, err error) {
	err = s.onRole(ctx, in.RoleName, func(_ *account, e *entity) error {
		out = &iam.ListRoleTagsOutput{Tags: tagList(e.tags)}
		return nil
	})
	return out, err
}

// put stores an inline policy.
func (e *entity) put(name, document *string) error {
	if err := e.checkInline(aws.ToString(name), aws.ToString(document)); err != nil {
		return err
	}
	if err := checkName("policyName", aws.ToString(name), "/", 128); err != nil {
		return err
	}
	e.inline[*name] = *document
	return nil
}

// document returns an inline policy.
func (e *entity) document(name *string) (string, error) {
	document, ok := e.inline[aws.ToString(name)]
	if !ok {
		return "", noSuch("The %s policy with name %s cannot be found.", e.kind, aws.ToString(name))
	}
	return document, nil
}

func (e *entity) drop(name *string) error {
	_, err := e.document(name)
	delete(e.inline, aws.ToString(name))
	return err
}

func (s *Service) putRolePolicy(ctx context.Context, in *iam.PutRolePolicyInput) (*iam.PutRolePolicyOutput, error) {
	return nil, s.onRole(ctx, in.RoleName, func(_ *account, e *entity) error { return e.put(in.PolicyName, in.PolicyDocument) })
}

func (s *Service) getRolePolicy(ctx context.Context, in *iam.GetRolePolicyInput) (out *iam.GetRolePolicyOutput, err error) {
	err = s.onRole(ctx, in.RoleName, func(_ *account, e *entity) error {
		document, err := e.document(in.PolicyName)
		out = &iam.GetRolePolicyOutput{RoleName: &e.name, PolicyName: in.PolicyName, PolicyDocument: encoded(document)}
		return err
	})
	return out, err
}

func (s *Service) deleteRolePolicy(ctx context.Context, in *iam.DeleteRolePolicyInput) (*iam.DeleteRolePolicyOutput, error) {
	return nil, s.onRole(ctx, in.RoleName, func(_ *account, e *entity) error { return e.drop(in.PolicyName) })
}

func (s *Service) listRolePolicies(ctx context.Context, in *iam.ListRolePoliciesInput) (out *iam.ListRolePoliciesOutput, err error) {
	err = s.onRole(ctx, in.RoleName, func(_ *account, e *entity) error {
		names, next := pageSize.Page(keysOf(e.inline), in.Marker, in.MaxItems)
		out = &iam.ListRolePoliciesOutput{PolicyNames: append([]string{}, names...), Marker: next, IsTruncated: next != nil}
		return nil
	})
	return out, err
}

func (s *Service) attachRolePolicy(ctx context.Context, in *iam.AttachRolePolicyInput) (*iam.AttachRolePolicyOutput, error) {
	return nil, s.onRole(ctx, in.RoleName, func(a *account, e *entity) error { return a.attach(e, aws.ToString(in.PolicyArn)) })
}

func (s *Service) detachRolePolicy(ctx context.Context, in *iam.DetachRolePolicyInput) (*iam.DetachRolePolicyOutput, error) {
	return nil, s.onRole(ctx, in.RoleName, func(a *account, e *entity) error { return a.detach(e, aws.ToString(in.PolicyArn)) })
}

// attachments returns an entity's managed policies.
func (e *entity) attachments(marker *string, most *int32) (list []types.AttachedPolicy, next *string) {
	arns, next := pageSize.Page(append([]string{}, e.attached...), marker, most)
	list = []types.AttachedPolicy{}
	for _, arn := range arns {
		list = append(
			list, types.AttachedPolicy{PolicyArn: aws.String(arn), PolicyName: aws.String(arn[strings.LastIndexByte(arn, '/')+1:])},
		)
	}
	return list, next
}

func (s *Service) listAttachedRolePolicies(
	ctx context.Context, in *iam.ListAttachedRolePoliciesInput,
) (out *iam.ListAttachedRolePoliciesOutput, err error) {
	err = s.onRole(ctx, in.RoleName, func(_ *account, e *entity) error {
		list, next := e.attachments(in.Marker, in.MaxItems)
		out = &iam.ListAttachedRolePoliciesOutput{AttachedPolicies: list, Marker: next, IsTruncated: next != nil}
		return nil
	})
	return out, err
}
