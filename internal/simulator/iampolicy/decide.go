package iampolicy

import (
	"slices"
	"strings"
)

// Kind is the type of a policy.
type Kind string

// The types of policies, in AWS's words.
const (
	IdentityBased       Kind = "identity-based policy"
	PermissionsBoundary Kind = "permissions boundary"
	SessionPolicy       Kind = "session policy"
	ResourceBased       Kind = "resource-based policy"
	TrustPolicy         Kind = "role trust policy"
)

// Policies are the policies that apply to a request.
type Policies struct {
	// Identity are the policies of the user or the role.
	Identity []*Policy
	// Boundary and Session limit Identity, unless they are nil. A session may have several policies, of
	// which one has to allow the request.
	Boundary, Session []*Policy
	// Resource is the policy of the resource, or nil.
	Resource *Policy
	// ResourceAccount is the account that owns the resource. If it is empty, the resource is in the
	// principal's account.
	ResourceAccount string
	// ResourceKind is [ResourceBased] by default. The policies of KMS keys and the trust policies of
	// roles must allow a request in their own account, too, which ResourceRequired says.
	// https://docs.aws.amazon.com/kms/latest/developerguide/key-policies.html
	ResourceKind     Kind
	ResourceRequired bool
}

// Decision is the answer to a request.
type Decision struct {
	// Allowed reports whether the request is allowed.
	Allowed bool
	// Explicit reports whether a policy denies the request, in contrast to none allowing it.
	Explicit bool
	// Kind is the type of the policy that denies, or of which none allows.
	Kind Kind
	// Matched are the statements that decided, if there are any.
	Matched []Match
}

// Match is a statement that matches a request.
type Match struct {
	// Policy is the name of the policy, Kind its type, and Index the position of the statement from 0.
	Policy string
	Kind   Kind
	Index  int
}

// Reason returns the end of AWS's message about a request that is denied, as "because no
// identity-based policy allows the sqs:CreateQueue action".
// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
func (d *Decision) Reason(action string) string {
	switch {
	case d.Allowed:
		return ""
	case d.Explicit && d.Kind == IdentityBased:
		return "with an explicit deny in an " + string(d.Kind)
	case d.Explicit && d.Kind == TrustPolicy:
		return "with an explicit deny in the " + string(d.Kind)
	case d.Explicit:
		return "with an explicit deny in a " + string(d.Kind)
	}
	return "because no " + string(d.Kind) + " allows the " + action + " action"
}

// Decide decides a request.
//
// A denial in any policy wins. Within an account, the policies of the principal or of the resource
// have to allow the request; across accounts, both. The boundary and the policies of the session
// limit what the principal's policies allow, and what the resource's policy allows a role, but not
// what it allows a user or a session by name.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic_policy-eval-denyallow.html
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic-cross-account.html
func Decide(r *Request, p *Policies) Decision {
	resourceKind := p.ResourceKind
	if resourceKind == "" {
		resourceKind = ResourceBased
	}
	var ofResource []*Policy
	if p.Resource != nil {
		ofResource = []*Policy{p.Resource}
	}
	identity, boundary := evaluate(r, IdentityBased, p.Identity), evaluate(r, PermissionsBoundary, p.Boundary)
	session, resource := evaluate(r, SessionPolicy, p.Session), evaluate(r, resourceKind, ofResource)
	for _, one := range []outcome{identity, boundary, session, resource} {
		if len(one.denied) > 0 {
			return Decision{Explicit: true, Kind: one.kind, Matched: one.denied}
		}
	}
	own := r.Principal != "" && (p.ResourceAccount == "" || p.ResourceAccount == accountOf(r.Principal))
	limits := func(named grant) *Decision {
		switch {
		case named >= byName:
		case p.Session != nil && !session.allows():
			return &Decision{Kind: SessionPolicy}
		case p.Boundary != nil && !boundary.allows():
			return &Decision{Kind: PermissionsBoundary}
		}
		return nil
	}
	switch {
	case r.Principal == "": // a service, an identity provider or an anonymous caller has no policies of its own
		if resource.named >= byRole {
			return Decision{Allowed: true, Matched: resource.allowed}
		}
		return Decision{Kind: resourceKind}
	case own && resource.named >= byRole:
		if denied := limits(resource.named); denied != nil {
			return *denied
		}
		return Decision{Allowed: true, Matched: resource.allowed}
	case (!own || p.ResourceRequired) && resource.named == notNamed:
		return Decision{Kind: resourceKind}
	case !identity.allows():
		return Decision{Kind: IdentityBased}
	}
	if denied := limits(notNamed); denied != nil {
		return *denied
	}
	return Decision{Allowed: true, Matched: slices.Concat(identity.allowed, resource.allowed)}
}

// outcome is what the policies of one type say about a request.
type outcome struct {
	kind            Kind
	allowed, denied []Match
	// named is how directly a statement that allows names the principal.
	named grant
}

func (o *outcome) allows() bool { return len(o.allowed) > 0 }

func evaluate(r *Request, kind Kind, policies []*Policy) outcome {
	o := outcome{kind: kind}
	action := strings.ToLower(r.Action)
	for _, p := range policies {
		for i := range p.statements {
			s := &p.statements[i]
			named := s.applies(r, action)
			if named == notNamed {
				continue
			}
			match := Match{Policy: p.Name, Kind: kind, Index: i}
			if s.deny {
				o.denied = append(o.denied, match)
				continue
			}
			o.allowed = append(o.allowed, match)
			o.named = max(o.named, named)
		}
	}
	return o
}

// applies returns how a statement that matches the request, whose action is in lower case, names its
// principal. A statement without a Principal is one of the principal's own policies.
func (s *statement) applies(r *Request, action string) grant {
	if !s.actions.contains(func(pattern string) bool {
		// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_action.html: case does not matter.
		return like(pattern, action)
	}) {
		return notNamed
	}
	if len(s.resources.patterns) > 0 && r.Resource != "" && !s.resources.contains(func(pattern string) bool {
		if s.variables {
			var ok bool
			if pattern, ok = r.substitute(pattern); !ok {
				return false
			}
		}
		return likeARN(pattern, r.Resource)
	}) {
		return notNamed
	}
	for i := range s.conditions {
		if !s.conditions[i].holds(r, s.variables) {
			return notNamed
		}
	}
	if s.principal == nil {
		return byName
	}
	return s.principal.grants(r)
}

func (e *element) contains(matches func(pattern string) bool) bool {
	return slices.ContainsFunc(e.patterns, matches) != e.not
}
