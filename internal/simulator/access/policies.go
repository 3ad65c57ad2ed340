package access

import (
	"fmt"
	"sync"

	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
)

// Policies are the policies of all principals. A nil pointer allows everything. Policies are safe
// for concurrent use.
type Policies struct {
	mu sync.RWMutex
	of map[string][]*iampolicy.Policy
}

// Request is a request of a principal.
type Request struct {
	// AccessKey is the ID of the key that signed the request; Principal is the ARN of its owner, and
	// Caller its owner.
	AccessKey, Principal string
	Caller               *Principal
	// Service is the service that makes a request for itself, as "events.amazonaws.com". Federated is
	// the identity provider of a request to assume a role.
	Service, Federated string
	// Action is the IAM action, for example "s3:GetObject".
	Action string
	// Resource is the ARN that the action is on. It is empty if the ARN is unknown, which every
	// Resource matches.
	Resource string
	// Context holds the values of condition keys, in lower case.
	Context map[string][]string
	// Of describes the resource; nil for actions without one.
	Of *Resource
}

// Parse parses policy documents by principal: an access key ID, or the ARN of a role, whose
// policies apply to its sessions.
func Parse(documents map[string][]string) (*Policies, error) {
	p := &Policies{of: map[string][]*iampolicy.Policy{}}
	for principal, all := range documents {
		if err := p.Set(principal, all...); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Set replaces the policies of a principal. If it returns an error, as Parse does, the policies are
// unchanged.
func (p *Policies) Set(principal string, documents ...string) error {
	policies := []*iampolicy.Policy{}
	for i, document := range documents {
		name := fmt.Sprintf("policy %d of %s", i+1, principal)
		policy, err := iampolicy.ParseIdentity(name, document)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		policies = append(policies, policy)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of[principal] = policies
	return nil
}

// Limits reports whether there are policies for an access key.
func (p *Policies) Limits(accessKey string) bool {
	_, limited := p.find(&Request{AccessKey: accessKey})
	return limited
}

// find returns the policies for the key or the principal of a request.
func (p *Policies) find(r *Request) (policies []*iampolicy.Policy, limited bool) {
	if p == nil {
		return nil, false
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	policies, limited = p.of[r.AccessKey]
	if !limited {
		policies, limited = p.of[iampolicy.RoleOf(r.Principal)]
	}
	return policies, limited
}

// Denial decides a request. It returns "" if the principal may make it, and otherwise the reason in
// AWS's words, as "because no identity-based policy allows the s3:GetObject action".
func (p *Policies) Denial(r Request) string {
	policies, limited := p.find(&r)
	if !limited {
		return ""
	}
	decision := iampolicy.Decide(&iampolicy.Request{
		Principal: r.Principal, Action: r.Action, Resource: r.Resource, Context: r.Context,
	}, &iampolicy.Policies{Identity: policies})
	return decision.Reason(r.Action)
}
