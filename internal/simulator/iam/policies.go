package iam

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// attachments counts the entities that a policy is attached to.
func (a *account) attachments(arn string) int32 {
	var n int32
	for _, all := range []map[string]*entity{a.roles, a.users} {
		for _, e := range all {
			if slices.Contains(e.attached, arn) {
				n++
			}
		}
	}
	return n
}

// current returns the default version.
func (p *policy) current() *types.PolicyVersion {
	for i := range p.versions {
		if p.versions[i].IsDefaultVersion {
			return &p.versions[i]
		}
	}
	return &types.PolicyVersion{}
}

func (p *policy) describe(a *account) *types.Policy {
	n := a.attachments(p.arn)
	return &types.Policy{
		Arn: &p.arn, PolicyName: &p.name, PolicyId: &p.id, Path: &p.path, Description: wire.Optional(p.description), CreateDate: &p.created,
		UpdateDate: aws.Time(p.updated), IsAttachable: true, AttachmentCount: &n, PermissionsBoundaryUsageCount: aws.Int32(0),
		DefaultVersionId: p.current().VersionId, Tags: tagList(p.tags),
	}
}

// addVersion adds a document to a policy.
func (s *Service) addVersion(p *policy, document string, isDefault bool) (*types.PolicyVersion, error) {
	if err := checkManaged(document); err != nil {
		return nil, err
	}
	if len(p.versions) >= 5 {
		return nil, wire.Errorf("LimitExceeded", "A managed policy can have up to 5 versions. Before you create a new version, you must delete an existing version.").
			WithStatus(409)
	}
	p.next++
	now := s.env.Clock.Now()
	if isDefault {
		for i := range p.versions {
			p.versions[i].IsDefaultVersion = false
		}
	}
	p.versions = append(p.versions, types.PolicyVersion{
		VersionId: aws.String("v" + strconv.Itoa(p.next)), Document: &document, CreateDate: &now, IsDefaultVersion: isDefault,
	})
	p.updated = now
	return &p.versions[len(p.versions)-1], nil
}

// addPolicy creates a managed policy. The caller holds the lock.
func (s *Service) addPolicy(a *account, p policy, document string) (*policy, error) {
	p.path = cmp.Or(p.path, "/")
	if err := checkName("policyName", p.name, p.path, 128); err != nil {
		return nil, err
	}
	p.arn, p.id, p.created = s.arn(a, "policy", p.path, p.name), "ANPA"+wire.RandomID(17), s.env.Clock.Now()
	if _, ok := a.policies[p.arn]; ok {
		return nil, exists("A policy called %s already exists. Duplicate names are not allowed.", p.name)
	}
	if _, err := s.addVersion(&p, document, true); err != nil {
		return nil, err
	}
	a.policies[p.arn] = &p
	return &p, nil
}

func (s *Service) createPolicy(ctx context.Context, in *iam.CreatePolicyInput) (*iam.CreatePolicyOutput, error) {
	if err := checkTags(nil, in.Tags); err != nil {
		return nil, err
	}
	a, unlock := s.locked(ctx)
	defer unlock()
	p, err := s.addPolicy(a, policy{
		name: aws.ToString(in.PolicyName), path: aws.ToString(in.Path), description: aws.ToString(in.Description), tags: tagMap(in.Tags),
	}, aws.ToString(in.PolicyDocument))
	if err != nil {
		return nil, err
	}
	return &iam.CreatePolicyOutput{Policy: p.describe(a)}, nil
}

// onPolicy runs fn on a managed policy of the caller's account.
func (s *Service) onPolicy(ctx context.Context, arn *string, fn func(*account, *policy) error) error {
	a, unlock := s.locked(ctx)
	defer unlock()
	p, ok := a.policies[aws.ToString(arn)]
	if !ok {
		return noSuch("Policy %s was not found.", aws.ToString(arn))
	}
	return fn(a, p)
}

func (s *Service) getPolicy(ctx context.Context, in *iam.GetPolicyInput) (out *iam.GetPolicyOutput, err error) {
	err = s.onPolicy(ctx, in.PolicyArn, func(a *account, p *policy) error {
		out = &iam.GetPolicyOutput{Policy: p.describe(a)}
		return nil
	})
	return out, err
}

func (s *Service) deletePolicy(ctx context.Context, in *iam.DeletePolicyInput) (*iam.DeletePolicyOutput, error) {
	return nil, s.onPolicy(ctx, in.PolicyArn, func(a *account, p *policy) error {
		if a.attachments(p.arn) > 0 {
			return conflict("Cannot delete a policy attached to entities.")
		}
		if len(p.versions) > 1 {
			return conflict(
				"This policy has more than one version. Before you delete a policy, you must delete the policy's versions. The default version is deleted with the policy.",
			)
		}
		delete(a.policies, p.arn)
		return nil
	})
}

func (s *Service) listPolicies(ctx context.Context, in *iam.ListPoliciesInput) (*iam.ListPoliciesOutput, error) {
	a, unlock := s.locked(ctx)
	defer unlock()
	var arns []string
	for arn, p := range a.policies {
		if in.Scope != types.PolicyScopeTypeAws && strings.HasPrefix(p.path, aws.ToString(in.PathPrefix)) &&
			(!in.OnlyAttached || a.attachments(arn) > 0) {
			arns = append(arns, arn)
		}
	}
	arns, next := pageSize.Page(arns, in.Marker, in.MaxItems)
	out := &iam.ListPoliciesOutput{Policies: []types.Policy{}, Marker: next, IsTruncated: next != nil}
	for _, arn := range arns {
		p := a.policies[arn].describe(a)
		p.Tags, p.Description = nil, nil // lists omit them, according to the API reference
		out.Policies = append(out.Policies, *p)
	}
	return out, nil
}

// version finds a version of a policy.
func (p *policy) version(id *string) (int, error) {
	at := slices.IndexFunc(p.versions, func(v types.PolicyVersion) bool { return *v.VersionId == aws.ToString(id) })
	if at < 0 {
		return 0, noSuch("Policy %s version %s does not exist or is not attachable.", p.arn, aws.ToString(id))
	}
	return at, nil
}

func (s *Service) getPolicyVersion(ctx context.Context, in *iam.GetPolicyVersionInput) (out *iam.GetPolicyVersionOutput, err error) {
	err = s.onPolicy(ctx, in.PolicyArn, func(_ *account, p *policy) error {
		at, err := p.version(in.VersionId)
		if err != nil {
			return err
		}
		v := p.versions[at]
		v.Document = encoded(*v.Document)
		out = &iam.GetPolicyVersionOutput{PolicyVersion: &v}
		return nil
	})
	return out, err
}

func (s *Service) createPolicyVersion(
	ctx context.Context, in *iam.CreatePolicyVersionInput,
) (out *iam.CreatePolicyVersionOutput, err error) {
	err = s.onPolicy(ctx, in.PolicyArn, func(_ *account, p *policy) error {
		v, err := s.addVersion(p, aws.ToString(in.PolicyDocument), in.SetAsDefault)
		if err != nil {
			return err
		}
		shown := *v
		shown.Document = nil
		out = &iam.CreatePolicyVersionOutput{PolicyVersion: &shown}
		return nil
	})
	return out, err
}

func (s *Service) deletePolicyVersion(ctx context.Context, in *iam.DeletePolicyVersionInput) (*iam.DeletePolicyVersionOutput, error) {
	return nil, s.onPolicy(ctx, in.PolicyArn, func(_ *account, p *policy) error {
		at, err := p.version(in.VersionId)
		if err != nil {
			return err
		}
		if p.versions[at].IsDefaultVersion {
			return conflict("Cannot delete the default version of a policy.")
		}
		p.versions = slices.Delete(p.versions, at, at+1)
		return nil
	})
}

func (s *Service) listPolicyVersions(ctx context.Context, in *iam.ListPolicyVersionsInput) (out *iam.ListPolicyVersionsOutput, err error) {
	err = s.onPolicy(ctx, in.PolicyArn, func(_ *account, p *policy) error {
		out = &iam.ListPolicyVersionsOutput{}
		for _, v := range slices.Backward(p.versions) {
			v.Document = nil
			out.Versions = append(out.Versions, v)
		}
		return nil
	})
	return out, err
}
