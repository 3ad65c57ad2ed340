package ec2

import (
	"context"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
	"github.com/aws-operator/aws-operator/internal/simulator/vpc"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// access returns the tags of a resource by its ARN. ARNs of images and snapshots have no account.
func (s *Service) access(at wire.Target, arn string) access.Resource {
	_, name := wire.TargetOf(arn)
	_, id, _ := strings.Cut(name, "/")
	if strings.Contains(name, "launch-template/") && !strings.HasPrefix(id, "lt-") {
		id = s.templateID(at, id)
	}
	return access.Resource{ARN: arn, Account: at.Account, Tags: s.network.Tags(at.Account, at.Region).Of(id)}
}

// templateID returns the ID of a launch template by its name.
func (s *Service) templateID(at wire.Target, name string) string {
	r := s.locked(at)
	defer r.mu.Unlock()
	for id, t := range r.templates {
		if t.name == name {
			return id
		}
	}
	return ""
}

// nameOf returns the ARN of a resource by its ID, or of the role of an instance profile.
func (s *Service) nameOf(at wire.Target, member, value string) string {
	if !strings.HasPrefix(member, "IamInstanceProfile") {
		return vpc.ResourceARN(s.partition(), at, value)
	}
	if s.options.Profiles == nil {
		return ""
	}
	profile, _ := s.options.Profiles.InstanceProfile(at.Account, value)
	return profile.RoleARN
}

// useKey returns an error if the caller may not use the key of a volume. AWS's own key may be used by
// all principals of the account.
// https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption-requirements.html#ebs-encryption-permissions
func (s *Service) useKey(ctx context.Context, key *string, action string) error {
	if key == nil || s.options.Ciphers == nil || !s.env.Control.Checks() || s.options.Ciphers.Managed(wire.TargetFrom(ctx), *key) {
		return nil
	}
	return s.options.Ciphers.Use(ctx, action, *key, "ec2", nil, map[string][]string{"kms:grantisforawsresource": {"true"}})
}

// mayAssume reports whether a role trusts EC2.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_iam-ec2.html#troubleshoot_iam-ec2_errors-code
func (s *Service) mayAssume(role string) bool {
	if !s.env.Control.Checks() {
		return true
	}
	found, _ := s.env.Control.Role(role)
	trust := access.ParseResource("trust policy", found.Trust)
	service := "ec2.amazonaws.com"
	if s.partition() == "aws-cn" {
		service += ".cn"
	}
	return trust != nil && s.env.Control.Denial(&access.Request{
		Service: service, Action: "sts:AssumeRole", Resource: role, Of: &access.Resource{ARN: role, Policy: trust, Kind: iampolicy.TrustPolicy},
	}) == ""
}
