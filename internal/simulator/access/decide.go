package access

import (
	"cmp"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
)

// Directory has the users and roles of all accounts.
type Directory interface {
	// Entity returns a user or a role by its ARN; a role's path may be missing.
	Entity(arn string) (Entity, bool)
	// Provider returns the audiences of an account's OpenID Connect provider.
	Provider(account, host string) (arn string, audiences []string, ok bool)
	// Managed returns a managed policy.
	Managed(account, arn string) (*iampolicy.Policy, error)
}

// Entity is a user or a role.
type Entity struct {
	// ARN and ID identify it.
	ARN, ID string
	// Trust is the trust policy of a role; MaxSession its longest session.
	Trust      string
	MaxSession time.Duration
	// Identity are its policies; Boundary is its permissions boundary, nil for none.
	Identity, Boundary []*iampolicy.Policy
	// Tags are its tags.
	Tags map[string]string
}

// Resource is what an action is on.
type Resource struct {
	// ARN is its ARN.
	ARN string
	// Account owns it. The default is the principal's account.
	Account string
	// Policy is its policy, nil for none. Required says that it must allow a request in its own
	// account, too. Kind is its type in AWS's words.
	Policy   *iampolicy.Policy
	Required bool
	Kind     iampolicy.Kind
	// Granted says that a grant of a key allows the action.
	Granted bool
	// Tags are its tags.
	Tags map[string]string
}

// everything is the policy of root users, and of principals where identity-based policies do not count.
var everything = func() []*iampolicy.Policy {
	p, err := iampolicy.ParseIdentity("root", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`)
	if err != nil {
		panic(err) // it is a constant
	}
	return []*iampolicy.Policy{p}
}()

// Denial decides a request. It returns "" if the principal may make it, and otherwise the reason in
// AWS's words. In mode [Audit] it reports the reason, and returns "".
func (c *Control) Denial(r *Request) string {
	switch {
	case c == nil:
		return ""
	case !c.Checks():
		return c.Policies.Denial(*r)
	}
	decision := c.Decide(r)
	reason := decision.Reason(r.Action)
	if reason != "" && c.Mode == Audit {
		who := cmp.Or(r.Service, r.Principal, "an anonymous caller")
		c.Report("%s would not be authorized to perform: %s on resource: %s %s", who, r.Action, cmp.Or(r.Resource, "*"), reason)
		return ""
	}
	return reason
}

// Decide decides a request by the policies of its principal and of its resource.
func (c *Control) Decide(r *Request) iampolicy.Decision {
	of := r.Of
	if of == nil {
		of = &Resource{}
	}
	asked := &iampolicy.Request{
		Principal: r.Principal, Service: r.Service, Federated: r.Federated, Action: r.Action, Resource: r.Resource,
	}
	policies := &iampolicy.Policies{
		Resource: of.Policy, ResourceAccount: of.Account, ResourceRequired: of.Required, ResourceKind: of.Kind,
	}
	var entity Entity
	if r.Caller != nil && r.Service == "" && r.Federated == "" {
		asked.Role = r.Caller.Role
		entity = c.entity(r)
		policies.Identity, policies.Boundary, policies.Session = entity.Identity, entity.Boundary, r.Caller.Session
	}
	if r.Caller != nil && r.Caller.IsRoot() && of.Policy == nil && (of.Account == "" || of.Account == r.Caller.Account) {
		return iampolicy.Decision{Allowed: true} // nothing can deny it
	}
	asked.Context = c.context(r, of, &entity)
	if c.Decided != nil {
		c.Decided(asked, policies)
	}
	decision := iampolicy.Decide(asked, policies)
	if of.Granted && !decision.Allowed && !decision.Explicit {
		return iampolicy.Decision{Allowed: true}
	}
	return decision
}

// entity returns the user or role of a principal, with the policies that count.
func (c *Control) entity(r *Request) Entity {
	if r.Caller.IsRoot() {
		return Entity{Identity: everything}
	}
	if limits, ok := c.Policies.find(r); ok {
		return Entity{Identity: limits}
	}
	if c.Principals == nil || r.Principal == "" {
		return Entity{}
	}
	entity, ok := c.Principals.Entity(cmp.Or(r.Caller.Role, iampolicy.RoleOf(r.Principal)))
	if id, _, _ := strings.Cut(r.Caller.UserID, ":"); !ok || entity.ID != id {
		return Entity{} // it was deleted, and perhaps created again
	}
	return entity
}

// context returns the condition keys of a request.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html
func (c *Control) context(r *Request, of *Resource, entity *Entity) map[string][]string {
	keys := make(map[string][]string, len(r.Context)+16) //nolint:mnd // the number of global keys
	maps.Copy(keys, r.Context)
	set := func(name, value string) {
		if value != "" {
			keys[name] = []string{value}
		}
	}
	now := c.now().UTC()
	set("aws:currenttime", now.Format(time.RFC3339))
	set("aws:epochtime", strconv.FormatInt(now.Unix(), 10))
	prefix, _, _ := strings.Cut(r.Action, ":")
	for name, value := range of.Tags { // a tag without a value is there, too
		keys["aws:resourcetag/"+strings.ToLower(name)] = []string{value}
		keys[prefix+":resourcetag/"+strings.ToLower(name)] = []string{value}
	}
	via := keys[CalledVia]
	set("aws:viaawsservice", strconv.FormatBool(len(via) > 0))
	if len(via) > 0 {
		set("aws:calledviafirst", via[0])
		set("aws:calledvialast", via[len(via)-1])
	}
	set("aws:principalisawsservice", strconv.FormatBool(r.Service != ""))
	if r.Service != "" {
		set("aws:principalservicename", r.Service)
		set("aws:principaltype", "AWSService")
	}
	if p := r.Caller; p != nil && r.Service == "" {
		p.keys(set, entity)
		set("aws:resourceaccount", cmp.Or(of.Account, p.Account))
	}
	return keys
}

// keys sets the keys of a principal.
func (p *Principal) keys(set func(name, value string), entity *Entity) {
	if p.ARN == "" {
		set("aws:principaltype", "Anonymous")
		return
	}
	set("aws:principalaccount", p.Account)
	set("aws:userid", p.UserID)
	set("aws:principalarn", cmp.Or(p.Role, iampolicy.RoleOf(p.ARN)))
	for name, value := range entity.Tags {
		set("aws:principaltag/"+strings.ToLower(name), value)
	}
	for name, value := range p.Tags {
		set("aws:principaltag/"+strings.ToLower(name), value)
	}
	set("aws:sourceidentity", p.SourceIdentity)
	set("aws:federatedprovider", p.Provider)
	if !p.Issued.IsZero() {
		set("aws:tokenissuetime", p.Issued.UTC().Format(time.RFC3339))
		set("aws:multifactorauthpresent", "false")
	}
	switch {
	case p.IsRoot():
		set("aws:principaltype", "Account")
	case p.IsSession():
		set("aws:principaltype", "AssumedRole")
	default:
		set("aws:principaltype", "User")
		set("aws:username", p.ARN[strings.LastIndexByte(p.ARN, '/')+1:])
	}
}

// Role returns a role that a service assumes.
func (c *Control) Role(arn string) (Entity, bool) {
	if c == nil || c.Principals == nil {
		return Entity{}, false
	}
	return c.Principals.Entity(arn)
}

func (c *Control) now() time.Time {
	if c.Now == nil {
		return time.Time{}
	}
	return c.Now()
}
