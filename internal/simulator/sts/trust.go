package sts

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// chained is the longest session of a role that a session assumes, in seconds.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles.html#iam-term-role-chaining
const chained = 3600

func denied(format string, args ...any) error {
	return wire.Errorf("AccessDenied", format, args...).WithStatus(http.StatusForbidden)
}

// assume decides whether the caller may assume the role, and sets what limits the session.
// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
func (s *Service) assume(ctx context.Context, to *session, in *sts.AssumeRoleInput) error {
	caller := wire.CallFrom(ctx).Caller
	if err := s.limit(to, in.Policy, in.PolicyArns); err != nil {
		return err
	}
	to.tag(caller, in)
	if !s.env.Control.Checks() {
		return wire.Authorize(ctx, "sts:AssumeRole", access.Resource{ARN: to.arn}, nil)
	}
	if caller.IsRoot() && s.env.Control.Enforces() {
		return denied("Roles may not be assumed by root accounts.")
	}
	role, exists := s.env.Control.Role(to.arn)
	exists = exists && role.ARN == to.arn
	for _, action := range actionsOf(in) {
		err := wire.Authorize(ctx, action, access.Resource{
			ARN: to.arn, Account: to.account, Policy: trustOf(role.Trust), Required: true, Kind: iampolicy.TrustPolicy, Tags: role.Tags,
		}, nil)
		switch {
		case !exists && s.env.Control.Enforces():
			return denied("User: %s is not authorized to perform: %s on resource: %s", caller.ARN, action, to.arn)
		case err != nil:
			return err
		}
	}
	if exists {
		to.user.AssumedRoleId = aws.String(role.ID + ":" + to.name)
		to.longest = int32(role.MaxSession / time.Second) //nolint:gosec // at most twelve hours
	}
	return to.checkDuration(in.DurationSeconds, caller)
}

func actionsOf(in *sts.AssumeRoleInput) []string {
	actions := []string{"sts:AssumeRole"}
	if len(in.Tags) > 0 {
		actions = append(actions, "sts:TagSession")
	}
	if in.SourceIdentity != nil {
		actions = append(actions, "sts:SetSourceIdentity")
	}
	return actions
}

// trustOf returns a trust policy. A role that does not exist trusts no principal.
func trustOf(document string) *iampolicy.Policy {
	if document == "" {
		return &iampolicy.Policy{Name: "trust policy"}
	}
	return access.ParseResource("trust policy", document)
}

func (s *session) checkDuration(seconds *int32, caller *wire.Principal) error {
	switch asked := aws.ToInt32(seconds); {
	case caller.IsSession() && asked > chained:
		return wire.Errorf(
			"ValidationError", "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining.",
		)
	case asked > s.longest && s.longest > 0:
		return wire.Errorf("ValidationError", "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")
	}
	return nil
}

// limit sets the session policies.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies.html#policies_session
func (s *Service) limit(to *session, document *string, arns []types.PolicyDescriptorType) error {
	if document != nil {
		policy, err := iampolicy.ParseIdentity("session policy", *document)
		if err != nil {
			return wire.Errorf("MalformedPolicyDocument", "%s", err)
		}
		to.granted.Session = append(to.granted.Session, policy)
	}
	for _, one := range arns {
		if s.env.Control == nil || s.env.Control.Principals == nil {
			break
		}
		policy, err := s.env.Control.Principals.Managed(to.account, aws.ToString(one.Arn))
		if err != nil {
			return wire.Errorf("MalformedPolicyDocument", "The policy %s does not exist.", aws.ToString(one.Arn))
		}
		to.granted.Session = append(to.granted.Session, policy)
	}
	return nil
}

// tag sets the tags of the session, with those that the caller's session passes on.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_session-tags.html#id_session-tags_role-chaining
func (s *session) tag(caller *wire.Principal, in *sts.AssumeRoleInput) {
	s.granted.Tags, s.granted.SourceIdentity = map[string]string{}, aws.ToString(in.SourceIdentity)
	for _, tag := range in.Tags {
		s.granted.Tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	s.granted.Transitive = slices.Clone(in.TransitiveTagKeys)
	if caller == nil {
		return
	}
	for _, key := range caller.Transitive {
		s.granted.Tags[key] = caller.Tags[key]
		s.granted.Transitive = append(s.granted.Transitive, key)
	}
	if s.granted.SourceIdentity == "" {
		s.granted.SourceIdentity = caller.SourceIdentity
	}
}

// federate decides whether a web identity may assume the role. It does not verify the signature of
// the token.
// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
func (s *Service) federate(ctx context.Context, to *session, in *sts.AssumeRoleWithWebIdentityInput, c *claims) error {
	if err := s.limit(to, in.Policy, in.PolicyArns); err != nil {
		return err
	}
	control := s.env.Control
	if !control.Checks() {
		return nil
	}
	err := s.trusts(ctx, to, c)
	if err != nil && !control.Enforces() {
		control.Report("sts:AssumeRoleWithWebIdentity of %s would be refused: %v", to.arn, err)
		err = nil
	}
	return err
}

func (s *Service) trusts(ctx context.Context, to *session, c *claims) error {
	host := strings.TrimPrefix(c.Issuer, "https://")
	provider, audiences, ok := s.env.Control.Principals.Provider(to.account, host)
	var sent []string
	switch audience := c.Audience.(type) {
	case string:
		sent = []string{audience}
	case []any:
		for _, one := range audience {
			if text, isText := one.(string); isText {
				sent = append(sent, text)
			}
		}
	}
	switch {
	case !ok:
		return wire.Errorf("InvalidIdentityToken", "No OpenIDConnect provider found in your account for %s", c.Issuer)
	case !slices.ContainsFunc(sent, func(one string) bool { return slices.Contains(audiences, one) }):
		return wire.Errorf("InvalidIdentityToken", "Incorrect token audience")
	case c.Expires != 0 && !s.env.Clock.Now().Before(time.Unix(c.Expires, 0)):
		return wire.Errorf("ExpiredTokenException", "Token expired: current date/time must be before the expiration date/time")
	}
	role, exists := s.env.Control.Role(to.arn)
	keys := map[string][]string{
		strings.ToLower(host) + ":sub": {c.Subject}, strings.ToLower(host) + ":aud": sent, "aws:requestedregion": {wire.CallFrom(ctx).Region},
		"sts:rolesessionname": {to.name}, "aws:federatedprovider": {provider}, "aws:securetransport": {"true"},
	}
	decision := s.env.Control.Decide(&access.Request{
		Federated: provider, Action: "sts:AssumeRoleWithWebIdentity", Resource: to.arn, Context: keys, Of: &access.Resource{
			ARN: to.arn, Account: to.account, Policy: trustOf(role.Trust), Required: true, Kind: iampolicy.TrustPolicy, Tags: role.Tags,
		},
	})
	if !exists || !decision.Allowed {
		return denied("Not authorized to perform sts:AssumeRoleWithWebIdentity")
	}
	to.user.AssumedRoleId = aws.String(role.ID + ":" + to.name)
	to.longest = int32(role.MaxSession / time.Second) //nolint:gosec // at most twelve hours
	to.granted.Provider = provider
	return nil
}

// decodeAuthorizationMessage decodes the message of a denial by EC2.
func (*Service) decodeAuthorizationMessage(
	_ context.Context, in *sts.DecodeAuthorizationMessageInput,
) (*sts.DecodeAuthorizationMessageOutput, error) {
	text, err := access.Decode(aws.ToString(in.EncodedMessage))
	if err != nil {
		return nil, wire.Errorf("InvalidAuthorizationMessageException", "Message is not valid")
	}
	return &sts.DecodeAuthorizationMessageOutput{DecodedMessage: &text}, nil
}
