package ec2

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

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
		if known := s.templateID(at, id); known != "" { // the ARN has the ID, however a request names it
			id, arn = known, vpc.ResourceARN(s.partition(), at, known)
		}
	}
	if strings.HasPrefix(name, "placement-group/") { // the ARN has the name
		id = s.placementID(at, id)
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

// placementID returns the ID of a placement group by its name.
func (s *Service) placementID(at wire.Target, name string) string {
	r := s.locked(at)
	defer r.mu.Unlock()
	if g := r.placement[name]; g != nil {
		return g.id
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

// mayTag returns an error if the caller of an operation may not tag new resources of a kind.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/supported-iam-actions-tagging.html
func (s *Service) mayTag(ctx context.Context, kind types.ResourceType, tags map[string]string, operation string) error {
	keys := tagKeys(tags)
	keys["ec2:createaction"] = []string{operation}
	return wire.Authorize(ctx, "ec2:CreateTags", s.anyOf(ctx, kind), keys)
}

// anyOf stands for new resources of a kind, which have no names yet.
func (s *Service) anyOf(ctx context.Context, kind types.ResourceType) access.Resource {
	at := wire.TargetFrom(ctx)
	return access.Resource{ARN: at.ARN(s.partition(), "ec2", string(kind)+"/*"), Account: at.Account}
}

// tagKeys returns the condition keys of the tags in a request.
func tagKeys(tags map[string]string) map[string][]string {
	keys := map[string][]string{}
	for key, value := range tags {
		keys["aws:requesttag/"+strings.ToLower(key)] = []string{value}
	}
	if len(tags) > 0 {
		keys["aws:tagkeys"] = slices.Sorted(maps.Keys(tags))
	}
	return keys
}

// mayRun returns an error if the caller of an operation may not run a decided launch: on what it
// creates, with the tags of each kind, on what it uses, and on the role that it passes.
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
func (s *Service) mayRun(ctx context.Context, l *launch, operation string) error {
	at := wire.TargetFrom(ctx)
	created := []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeNetworkInterface}
	if _, ok := l.kinds[types.ResourceTypeSpotInstancesRequest]; ok && l.spot {
		created = append(created, types.ResourceTypeSpotInstancesRequest)
	}
	for _, kind := range created {
		keys := tagKeys(l.kinds[kind])
		keys["ec2:instancetype"] = []string{l.kind.name}
		if err := wire.Authorize(ctx, "ec2:RunInstances", s.anyOf(ctx, kind), keys); err != nil {
			return err
		}
		if len(l.kinds[kind]) == 0 {
			continue
		}
		if err := s.mayTag(ctx, kind, l.kinds[kind], operation); err != nil {
			return err
		}
	}
	for _, id := range l.uses() {
		arn := vpc.ResourceARN(s.partition(), at, id)
		of := access.Resource{ARN: arn, Account: at.Account, Tags: s.tags(at).Of(id)}
		if err := wire.Authorize(ctx, "ec2:RunInstances", of, nil); err != nil {
			return err
		}
	}
	if l.placed != nil {
		of := access.Resource{ARN: s.placementARN(at, l.placed.name), Account: at.Account, Tags: s.tags(at).Of(l.placed.id)}
		if err := wire.Authorize(ctx, "ec2:RunInstances", of, nil); err != nil {
			return err
		}
	}
	if l.profile.RoleARN == "" {
		return nil
	}
	role := access.Resource{ARN: l.profile.RoleARN, Account: at.Account}
	return wire.Authorize(ctx, "iam:PassRole", role, map[string][]string{"iam:passedtoservice": {"ec2.amazonaws.com"}})
}

// mayReadImageParameter returns an error if the caller may not read the parameter that names the image of
// a launch.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-systems-manager-parameter-to-find-AMI.html
func (s *Service) mayReadImageParameter(ctx context.Context, l *launch) error {
	name, byName := strings.CutPrefix(aws.ToString(l.data.ImageId), "resolve:ssm:")
	if !byName {
		return nil
	}
	at := wire.TargetFrom(ctx)
	arn := "arn:" + s.partition() + ":ssm:" + at.Region + "::parameter" + name
	return wire.Authorize(ctx, "ssm:GetParameters", access.Resource{ARN: arn, Account: at.Account}, nil)
}

// uses returns the IDs of the resources that a decided launch uses.
func (l *launch) uses() []string {
	ids := []string{*l.image.ImageId}
	if l.capacity.target != nil {
		ids = append(ids, l.capacity.target.id)
	}
	if l.template != nil {
		ids = append(ids, l.template.id)
	}
	ids = append(ids, l.data.SecurityGroupIds...)
	if l.subnet != "" {
		ids = append(ids, l.subnet)
	}
	for i := range l.data.NetworkInterfaces {
		n := &l.data.NetworkInterfaces[i]
		ids = append(ids, n.Groups...)
		if n.SubnetId != nil {
			ids = append(ids, *n.SubnetId)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
