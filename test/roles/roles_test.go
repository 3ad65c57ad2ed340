package roles_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/partition"
	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
)

func partitionOf(region string) string {
	name, _ := partition.Of(region)
	return name
}

// Every action on everything that is not the cluster's own is denied, except what exceptions lists.
func TestRolesReachNoResourcesOfOthers(t *testing.T) {
	used := map[string]bool{}
	known := map[string]bool{} // roles with policies that those of another variant have, too
	requests := 0
	for _, s := range variants() {
		others := index(foreign(t, s))
		for _, one := range rolesOf(t, s) {
			key := text(t, one.role.documents) + s.region + s.set
			if known[key] {
				continue
			}
			known[key] = true
			for r := range one.requests(s.region, others) {
				requests++
				if !r.allowed() || !r.creates() {
					continue
				}
				found := slices.IndexFunc(exceptions, func(e exception) bool { return e.covers(&r) })
				if found < 0 {
					t.Errorf("%s, %s", s, &r)
					continue
				}
				used[exceptions[found].combination(one.role.id, r.p.Action, r.target.on, r.attempt.tags)] = true
			}
		}
	}
	t.Logf("%d requests of %d roles", requests, len(known))
	for i := range exceptions {
		for _, want := range exceptions[i].combinations() {
			if !used[want] {
				t.Errorf("the exception %s is not used", want)
			}
		}
	}
}

// Every statement that allows something allows it on the cluster's own resources: the requests of the
// other test are those that roles make.
func TestStatementsOfRolesApplyToTheirOwnCluster(t *testing.T) {
	for _, s := range variants() {
		own := index(ofOwn(t, s))
		for _, one := range rolesOf(t, s) {
			matched := map[string]bool{}
			for r := range one.requests(s.region, own) {
				for _, m := range r.decide().Matched {
					matched[fmt.Sprint(m.Policy, m.Index)] = true
				}
			}
			for _, st := range one.statements {
				if !matched[fmt.Sprint(st.policy, st.index)] {
					t.Errorf("%s, %s: no request is decided by %s of policy %s", s, one.role.id, st.Sid, st.policy)
				}
			}
		}
	}
}

// The operator and slots find load balancers, snapshots and etcd's volumes by the operator's tags. A
// role that could set them on its own resources would make what another cluster takes for its own.
// What calls create is in the test of resources of others.
func TestRolesCannotSetTheTagsOfTheOperator(t *testing.T) {
	tries := 0
	for _, s := range variants() {
		own := index(ofOwn(t, s))
		for _, one := range rolesOf(t, s) {
			for r := range one.requests(s.region, own) {
				tags := strings.HasSuffix(r.p.Action, ":CreateTags") || strings.HasSuffix(r.p.Action, ":AddTags")
				if r.p.New || !tags || r.attempt.tags != tagsOfAVolume {
					continue
				}
				tries++
				if r.allowed() {
					t.Errorf("%s, %s", s, &r)
				}
			}
		}
	}
	if tries == 0 {
		t.Error("nothing was tried")
	}
}

// A role has no action that the test would not try.
func TestActionsOfRolesAreKnown(t *testing.T) {
	for _, s := range variants() {
		for _, one := range rolesOf(t, s) {
			for _, st := range one.statements {
				for _, action := range st.Action {
					if !slices.ContainsFunc(table, func(p permission) bool { return matches(action, p.Action) }) {
						t.Errorf("%s, %s: %s of %s is not among the actions that are tried", s, one.role.id, action, st.Sid)
					}
				}
			}
		}
	}
}

// A service account of another cluster has the same name and another issuer.
func TestRolesOfAddonsAreForTheirServiceAccountOnly(t *testing.T) {
	s := demo("eu-central-1", newest())
	other := s
	other.name = "demo-2"
	issuer := func(s settings) (arn, host string) {
		base := s.stacks(t)[0]
		return base.arn("Issuer"), base.name("Issuer")
	}
	own, host := issuer(s)
	foreign, foreignHost := issuer(other)
	accounts := map[string]string{
		ebsCSI: "kube-system:ebs-csi-controller-sa", loadBalancers: "kube-system:aws-load-balancer-controller",
		externalDNS: "kube-system:external-dns", certManager: "cert-manager:cert-manager",
	}
	tries := 0
	for _, one := range rolesOf(t, s) {
		if !strings.Contains(one.role.trust, "WebIdentity") {
			continue
		}
		account := accounts[one.role.id]
		driver := "system:serviceaccount:" + account
		_, name, _ := strings.Cut(account, ":")
		for name, c := range map[string]struct {
			provider, host, subject, audience string
			want                              bool
		}{
			"its own service account":          {own, host, driver, "sts.amazonaws.com", true},
			"that of another cluster":          {foreign, foreignHost, driver, "sts.amazonaws.com", false},
			"another service account":          {own, host, "system:serviceaccount:default:" + name, "sts.amazonaws.com", false},
			"a token for another audience":     {own, host, driver, "kubernetes", false},
			"keys of another cluster's issuer": {foreign, host, driver, "sts.amazonaws.com", false},
		} {
			tries++
			decision := one.control.Decide(&access.Request{
				Federated: c.provider, Action: "sts:AssumeRoleWithWebIdentity", Resource: one.role.arn,
				Context: map[string][]string{c.host + ":sub": {c.subject}, c.host + ":aud": {c.audience}},
				Of: &access.Resource{
					ARN: one.role.arn, Policy: access.ParseResource("trust", one.role.trust), Required: true, Kind: iampolicy.TrustPolicy,
				},
			})
			if decision.Allowed != c.want {
				t.Errorf("%s: that %s may assume it is %v", one.role.id, name, decision.Allowed)
			}
		}
	}
	if tries == 0 {
		t.Error("no role trusts the issuer")
	}
}

// target is what a request is on.
type target struct {
	resource

	// on is the kind of the resource, or what is in its place.
	on string
	// region is the region of the request.
	region string
}

// What requests are on other than resources.
const (
	noResource  = "no resource"
	otherRegion = "no resource, in another region"
	newResource = "a new "
)

// index returns resources by kind.
func index(all []resource) map[string][]resource {
	by := map[string][]resource{}
	for _, one := range all {
		by[one.kind] = append(by[one.kind], one)
	}
	return by
}

// targets returns what to try a permission on.
func targets(p *permission, region string, on map[string][]resource) []target {
	if p.kinds == nil {
		return []target{
			{on: noResource, region: region, resource: resource{arn: "*"}},
			{on: otherRegion, region: "eu-west-3", resource: resource{arn: "*"}},
		}
	}
	var all []target
	for _, kind := range p.kinds {
		if p.New { // it has no tags before
			one := ofEveryKind(map[string]string{kind: arns[kind]}, "", region, "new", nil)[0]
			all = append(all, target{resource: one, on: newResource + kind, region: region})
			continue
		}
		for _, one := range on[kind] {
			at := region
			if parts := strings.SplitN(one.arn, ":", 6); parts[3] != "" {
				at = parts[3]
			}
			all = append(all, target{resource: one, on: kind, region: at})
		}
	}
	return all
}

// attempt is what the sender of a request chooses.
type attempt struct {
	// tags describes the tags in the request.
	tags string
	keys map[string][]string
}

// Tags of requests.
const (
	noTags        = "no tags"
	ownTag        = "the tag of the own cluster"
	otherTag      = "the tag of another cluster"
	bothTags      = "the tags of both clusters"
	tagsOfAVolume = "the own tag and those of another cluster's etcd volume"
	ownLBTag      = "the load balancer controller's tag of the own cluster"
	otherLBTag    = "the load balancer controller's tag of another cluster"
	lbAndOtherTag = "the load balancer controller's tag of the own cluster and the tag of another cluster"
)

// requestTags are the tags that requests are tried with.
func requestTags() []attempt {
	own := map[string]string{model.TagOwnedPrefix + "demo": model.TagOwned}
	other := map[string]string{model.TagOwnedPrefix + "demo-2": model.TagOwned}
	volume := map[string]string{model.TagCluster: "demo-2", model.TagEtcdSlot: "0"}
	all := []attempt{{tags: noTags, keys: map[string][]string{}}}
	for _, c := range []struct {
		name string
		tags map[string]string
	}{
		{ownTag, own},
		{otherTag, other},
		{bothTags, with(own, other)},
		{tagsOfAVolume, with(with(own, other), volume)},
		{ownLBTag, map[string]string{tagOfLoadBalancers: "demo"}},
		{otherLBTag, map[string]string{tagOfLoadBalancers: "demo-2"}},
		{lbAndOtherTag, with(other, map[string]string{tagOfLoadBalancers: "demo"})},
	} {
		keys := map[string][]string{"aws:tagkeys": slices.Sorted(maps.Keys(c.tags))}
		for key, value := range c.tags {
			keys["aws:requesttag/"+strings.ToLower(key)] = []string{value}
		}
		all = append(all, attempt{c.name, keys})
	}
	return all
}

// statement is a statement that allows something.
type statement struct {
	Sid, Effect string
	Action      texts
	Resource    texts
	Condition   map[string]map[string]texts

	policy string
	index  int
}

// texts is a text or a list of texts.
type texts []string

func (l *texts) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = texts{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

// names reports whether the statement is about an action.
func (st *statement) names(action string) bool {
	return slices.ContainsFunc(st.Action, func(pattern string) bool { return matches(pattern, action) })
}

// choices returns values of condition keys that the sender of a request chooses, tags apart, with which
// the statement's conditions hold.
func (st *statement) choices() map[string][]string {
	keys := map[string][]string{}
	for operator, conditions := range st.Condition {
		for key, values := range conditions {
			if key = strings.ToLower(key); operator == "Null" && values[0] == "true" || isGiven(key) {
				continue
			}
			if operator == "Null" { // The key has any value.
				keys[key] = []string{"x"}
				continue
			}
			if !strings.HasPrefix(operator, "ForAllValues:") {
				values = values[:1]
			}
			for _, value := range values {
				keys[key] = append(keys[key], strings.ReplaceAll(value, "*", "x"))
			}
		}
	}
	return keys
}

// tried is a role with the code that decides its requests.
type tried struct {
	role       role
	set        string
	control    *access.Control
	caller     *access.Principal
	statements []statement
}

// directory has one role.
type directory struct{ role access.Entity }

func (d directory) Entity(arn string) (access.Entity, bool) { return d.role, arn == d.role.ARN }

func (directory) Provider(string, string) (arn string, audiences []string, ok bool) {
	return "", nil, false
}

func (directory) Managed(_, arn string) (*iampolicy.Policy, error) {
	return nil, fmt.Errorf("there is no policy %s", arn)
}

// rolesOf returns the roles of a cluster, sorted.
func rolesOf(t *testing.T, s settings) []*tried {
	t.Helper()
	var all []*tried
	for _, stack := range s.stacks(t) {
		for _, role := range stack.roles() {
			all = append(all, newTried(t, role, s.region, s.set))
		}
	}
	slices.SortFunc(all, func(a, b *tried) int { return strings.Compare(a.role.id, b.role.id) })
	return all
}

// newTried returns a role with the code that decides the requests of one of its sessions.
func newTried(t *testing.T, role role, region, set string) *tried {
	t.Helper()
	one := &tried{role: role, set: set}
	entity := access.Entity{ARN: role.arn, ID: "AROA", Trust: role.trust}
	for _, name := range slices.Sorted(maps.Keys(role.documents)) {
		policy, err := iampolicy.ParseIdentity(name, role.documents[name])
		if err != nil {
			t.Fatalf("%s, policy %s: %v", role.id, name, err)
		}
		entity.Identity = append(entity.Identity, policy)
		var document struct{ Statement []statement }
		if err := json.Unmarshal([]byte(role.documents[name]), &document); err != nil {
			t.Fatal(err)
		}
		for i, st := range document.Statement {
			if st.Effect == "Allow" {
				st.policy, st.index = name, i
				one.statements = append(one.statements, st)
			}
		}
	}
	name := role.arn[strings.LastIndexByte(role.arn, '/')+1:]
	one.caller = &access.Principal{
		Account: account, ARN: fmt.Sprintf("arn:%s:sts::%s:assumed-role/%s/i-0a1b", partitionOf(region), account, name),
		UserID: "AROA:i-0a1b", Role: role.arn,
	}
	one.control = &access.Control{
		Mode: access.Enforce, Principals: directory{entity},
		Now: func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) },
	}
	return one
}

// attempts returns what the sender of a request can choose, so that it fulfills the conditions of any
// statement about the action. The caller does not choose tags of resources, regions and what a
// service says about a call.
func (one *tried) attempts(p *permission, on target) []attempt {
	chosen := []map[string][]string{nil}
	named := false
	for _, st := range one.statements {
		if st.names(p.Action) {
			named = true
			chosen = append(chosen, st.choices())
		}
	}
	all := requestTags()
	if !named {
		return all[len(all)-1:] // no statement is about the action, whatever the request says
	}
	service, operation, _ := strings.Cut(p.operation, ":")
	creates := strings.HasPrefix(operation, "Create") && operation != "CreateTags" || strings.HasPrefix(operation, "Copy")
	if service == "ec2" && !p.New && creates {
		all = all[:1] // EC2 compares tags of requests with what the call creates, as the simulator does
	}
	if p.Tags {
		all = all[1:] // without tags, the call does not need the permission
	}
	tagged := all
	all = nil
	for _, a := range tagged {
		for _, keys := range chosen {
			merged := maps.Clone(a.keys)
			maps.Copy(merged, keys)
			merged["aws:requestedregion"], merged["aws:securetransport"] = []string{on.region}, []string{"true"}
			if p.Tags {
				prefix, _, _ := strings.Cut(p.Action, ":")
				merged[prefix+":createaction"] = []string{operation}
			}
			all = append(all, attempt{a.tags, merged})
		}
	}
	return all
}

// request is a request of a role.
type request struct {
	role    *tried
	p       *permission
	target  target
	attempt attempt
}

func (r *request) String() string {
	return fmt.Sprintf("%s: %s is allowed on %s, %s (%s), with %s",
		r.role.role.id, r.p.Action, r.target.on, r.target.arn, r.target.owner, r.attempt.tags)
}

// requests returns all requests of a role on resources.
func (one *tried) requests(region string, on map[string][]resource) iter.Seq[request] {
	return func(yield func(request) bool) {
		for i := range table {
			for _, target := range targets(&table[i], region, on) {
				for _, a := range one.attempts(&table[i], target) {
					if !yield(request{one, &table[i], target, a}) {
						return
					}
				}
			}
		}
	}
}

// creates reports whether a request that creates something is allowed as a whole: the creation, and
// the tags. It is true for requests that create nothing.
func (r *request) creates() bool {
	if !r.p.New {
		return true
	}
	for i := range table {
		other := &table[i]
		same := other.operation == r.p.operation && other.New && slices.Contains(other.kinds, r.target.kind)
		if !same || other.Tags && r.attempt.tags == noTags {
			continue
		}
		if !slices.ContainsFunc(r.role.attempts(other, r.target), func(a attempt) bool {
			with := request{r.role, other, r.target, a}
			return a.tags == r.attempt.tags && with.allowed()
		}) {
			return false
		}
	}
	return true
}

func (r *request) allowed() bool {
	decision := r.decide()
	return decision.Allowed
}

// isGiven reports whether the sender of a request does not choose a condition key, or chooses it with
// the tags.
func isGiven(key string) bool {
	return strings.HasPrefix(key, "aws:") || strings.HasSuffix(key, ":createaction") || strings.Contains(key, ":resourcetag/")
}

// matches reports whether an action of a statement, which may end in a star, is an action.
func matches(pattern, action string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(action, prefix)
	}
	return strings.EqualFold(pattern, action)
}

// decide asks the simulator.
func (r *request) decide() iampolicy.Decision {
	one, on := r.role, &r.target
	asked := &access.Request{
		Principal: one.caller.ARN, Caller: one.caller, Action: r.p.Action, Resource: on.arn, Context: r.attempt.keys,
	}
	if r.p.kinds == nil {
		return one.control.Decide(asked)
	}
	asked.Of = &access.Resource{ARN: on.arn, Account: account, Tags: on.tags}
	switch {
	case on.kind == "iam:role" && strings.HasPrefix(r.p.Action, "sts:"):
		asked.Of.Policy, asked.Of.Required, asked.Of.Kind = access.ParseResource("trust", on.policy), true, iampolicy.TrustPolicy
	case on.kind == "kms:key":
		asked.Of.Policy, asked.Of.Required = access.ParseResource("key", on.policy), on.policy != ""
	case on.kind != "iam:role":
		asked.Of.Policy = access.ParseResource("policy", on.policy)
	}
	return one.control.Decide(asked)
}
