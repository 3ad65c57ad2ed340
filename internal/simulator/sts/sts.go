package sts

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"

	"github.com/aws-operator/aws-operator/internal/lazyregexp"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/wire"
)

// Service is the simulated STS.
type Service struct {
	env   *resource.Env
	keys  *wire.Keys
	isNew func(arn string) bool
}

// Option configures the service.
type Option func(*Service)

// WithNew sets what reports whether services do not know a role yet. By default they know all.
func WithNew(isNew func(arn string) bool) Option { return func(s *Service) { s.isNew = isNew } }

// New returns the service; it issues its sessions' keys to keys.
func New(env *resource.Env, keys *wire.Keys, options ...Option) *Service {
	s := &Service{env: env, keys: keys, isNew: func(string) bool { return false }}
	for _, option := range options {
		option(s)
	}
	return s
}

// check refuses a role that was just created, as if it did not exist.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html#troubleshoot_general_eventual-consistency
func (s *Service) check(principal, action, role string) error {
	if !s.isNew(role) {
		return nil
	}
	return &wire.Error{
		Code: "AccessDenied", Status: http.StatusForbidden,
		Message: "User: " + principal + " is not authorized to perform: " + action + " on resource: " + role,
	}
}

// Service returns the operations for the wire layer.
func (s *Service) Service() *wire.Service {
	return &wire.Service{
		Name: "sts", Protocols: []wire.Protocol{wire.Query}, APIVersion: "2011-06-15", QueryJSON: true,
		XMLNamespace: "https://sts.amazonaws.com/doc/2011-06-15/",
		Unsigned:     []string{"AssumeRoleWithWebIdentity", "AssumeRoleWithSAML"},
		Operations: map[string]wire.Operation{
			"AssumeRole":                 wire.Op(s.assumeRole),
			"AssumeRoleWithWebIdentity":  wire.Op(s.assumeRoleWithWebIdentity),
			"DecodeAuthorizationMessage": wire.Op(s.decodeAuthorizationMessage),
			"GetAccessKeyInfo":           wire.Op(s.getAccessKeyInfo),
			"GetCallerIdentity":          wire.Op(s.getCallerIdentity),
			"GetSessionToken":            wire.Op(s.getSessionToken),
		},
	}
}

func (s *Service) getCallerIdentity(ctx context.Context, _ *sts.GetCallerIdentityInput) (*sts.GetCallerIdentityOutput, error) {
	c := wire.CallFrom(ctx)
	return &sts.GetCallerIdentityOutput{Account: &c.Account, Arn: &c.Principal, UserId: &c.UserID}, nil
}

var (
	roleARN     = lazyregexp.New(`^arn:[a-z-]+:iam::(\d{12}):role/([\w+=,.@/-]+)$`)
	sessionName = lazyregexp.New(`^[\w+=,.@-]{2,64}$`)
)

// session is a role's session to issue keys for.
type session struct {
	account, role, name string
	// arn is that of the role; longest is the longest duration in seconds.
	arn     string
	longest int32
	user    types.AssumedRoleUser
	// granted has what limits and describes the session.
	granted wire.Principal
}

// newSession validates the request and derives the session's principal.
// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
func newSession(arn, name *string) (*session, error) {
	match := roleARN.FindStringSubmatch(aws.ToString(arn))
	if match == nil {
		return nil, wire.Errorf("ValidationError", "%s is invalid", aws.ToString(arn))
	}
	if !sessionName.MatchString(aws.ToString(name)) {
		return nil, wire.Errorf(
			"ValidationError",
			"1 validation error detected: Value '%s' at 'roleSessionName' failed to satisfy constraint: Member must satisfy regular expression pattern: [\\w+=,.@-]*",
			aws.ToString(name),
		)
	}
	partition := strings.Split(*arn, ":")[1]
	role := match[2][strings.LastIndexByte(match[2], '/')+1:]
	sum := sha256.Sum256([]byte(*arn))
	return &session{
		account: match[1], role: role, name: *name, arn: *arn, longest: 43200,
		user: types.AssumedRoleUser{
			Arn:           aws.String("arn:" + partition + ":sts::" + match[1] + ":assumed-role/" + role + "/" + *name),
			AssumedRoleId: aws.String("AROA" + base32.StdEncoding.EncodeToString(sum[:])[:17] + ":" + *name),
		},
	}, nil
}

// issue issues keys to a principal after it checks the duration against its bounds.
func (s *Service) issue(p wire.Principal, seconds *int32, standard, least, most int32) (*types.Credentials, error) {
	duration := standard
	if seconds != nil {
		duration = *seconds
	}
	if duration < least || duration > most {
		return nil, wire.Errorf(
			"ValidationError",
			"1 validation error detected: Value '%d' at 'durationSeconds' failed to satisfy constraint: Member must have value between %d and %d",
			duration,
			least,
			most,
		)
	}
	p.Issued = s.env.Clock.Now()
	p.Expires = s.env.Clock.Now().Add(time.Duration(duration) * time.Second).Truncate(time.Second)
	id, secret, token := s.keys.IssueSession(p)
	return &types.Credentials{AccessKeyId: &id, SecretAccessKey: &secret, SessionToken: &token, Expiration: &p.Expires}, nil
}

func (s *Service) assumeRole(ctx context.Context, in *sts.AssumeRoleInput) (*sts.AssumeRoleOutput, error) {
	session, err := newSession(in.RoleArn, in.RoleSessionName)
	if err != nil {
		return nil, err
	}
	if err := s.assume(ctx, session, in); err != nil {
		return nil, err
	}
	if err := s.check(wire.CallFrom(ctx).Principal, "sts:AssumeRole", *in.RoleArn); err != nil {
		return nil, err
	}
	credentials, err := s.issue(session.principal(), in.DurationSeconds, 3600, 900, session.longest)
	if err != nil {
		return nil, err
	}
	return &sts.AssumeRoleOutput{AssumedRoleUser: &session.user, Credentials: credentials, SourceIdentity: in.SourceIdentity}, nil
}

func (s *session) principal() wire.Principal {
	p := s.granted
	p.Account, p.ARN, p.UserID, p.Role = s.account, *s.user.Arn, *s.user.AssumedRoleId, s.arn
	return p
}

// claims are the claims of a web identity token.
type claims struct {
	Issuer   string `json:"iss"`
	Subject  string `json:"sub"`
	Audience any    `json:"aud"`
	Expires  int64  `json:"exp"`
}

func (s *Service) assumeRoleWithWebIdentity(
	ctx context.Context, in *sts.AssumeRoleWithWebIdentityInput,
) (*sts.AssumeRoleWithWebIdentityOutput, error) {
	session, err := newSession(in.RoleArn, in.RoleSessionName)
	if err != nil {
		return nil, err
	}
	var c claims
	parts := strings.Split(aws.ToString(in.WebIdentityToken), ".")
	if len(parts) != 3 || decodeSegment(parts[1], &c) != nil || c.Issuer == "" {
		return nil, wire.Errorf(
			"InvalidIdentityToken", "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)",
		)
	}
	if err := s.federate(ctx, session, in, &c); err != nil {
		return nil, err
	}
	credentials, err := s.issue(session.principal(), in.DurationSeconds, 3600, 900, session.longest)
	if err != nil {
		return nil, err
	}
	out := &sts.AssumeRoleWithWebIdentityOutput{
		AssumedRoleUser: &session.user, Credentials: credentials,
		SubjectFromWebIdentityToken: &c.Subject, Provider: aws.String(strings.TrimPrefix(c.Issuer, "https://")),
	}
	switch audience := c.Audience.(type) {
	case string:
		out.Audience = &audience
	case []any:
		if text, ok := first(audience); ok {
			out.Audience = &text
		}
	}
	return out, nil
}

func first(list []any) (string, bool) {
	if len(list) == 0 {
		return "", false
	}
	text, ok := list[0].(string)
	return text, ok
}

func decodeSegment(segment string, v any) error {
	data, err := base64.RawURLEncoding.DecodeString(segment)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

func (s *Service) getSessionToken(ctx context.Context, in *sts.GetSessionTokenInput) (*sts.GetSessionTokenOutput, error) {
	c := wire.CallFrom(ctx)
	if strings.HasPrefix(c.AccessKeyID, "ASIA") {
		return nil, wire.Errorf("AccessDenied", "Cannot call GetSessionToken with session credentials").WithStatus(http.StatusForbidden)
	}
	credentials, err := s.issue(
		wire.Principal{Account: c.Account, ARN: c.Principal, UserID: c.UserID}, in.DurationSeconds, 43200, 900, 129600,
	)
	if err != nil {
		return nil, err
	}
	return &sts.GetSessionTokenOutput{Credentials: credentials}, nil
}

func (s *Service) getAccessKeyInfo(ctx context.Context, in *sts.GetAccessKeyInfoInput) (*sts.GetAccessKeyInfoOutput, error) {
	p, ok := s.keys.Lookup(aws.ToString(in.AccessKeyId))
	if !ok {
		p.Account = wire.CallFrom(ctx).Account
	}
	return &sts.GetAccessKeyInfoOutput{Account: &p.Account}, nil
}
