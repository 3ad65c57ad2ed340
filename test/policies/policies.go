// Package policies finds the statements of IAM policies without which none of a user's requests to the
// simulator would be denied.
package policies

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws-operator/aws-operator/internal/permissions"
	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
)

// Recorder records a user's requests, and those that AWS services make for it.
type Recorder struct {
	user     string
	mu       sync.Mutex
	known    map[string]bool
	requests []recorded
}

// recorded is a request, and the policies that decided it.
type recorded struct {
	*iampolicy.Request
	policies *iampolicy.Policies
}

// NewRecorder returns a recorder of the requests of a user, by its name.
func NewRecorder(user string) *Recorder { return &Recorder{user: user, known: map[string]bool{}} }

// Add records the first request for an action on a resource, directly or through other services.
func (r *Recorder) Add(request *iampolicy.Request, policies *iampolicy.Policies) {
	if !strings.HasSuffix(request.Principal, ":user/"+r.user) {
		return
	}
	key := strings.Join(slices.Concat(
		[]string{request.Action, request.Resource}, request.Context["aws:calledvia"], request.Context["kms:viaservice"],
	), " ")
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.known[key] {
		r.known[key] = true
		r.requests = append(r.requests, recorded{request, policies})
	}
}

// Denied returns the first request that other policies of the user deny, nil if there is none.
func (r *Recorder) Denied(identity []*iampolicy.Policy) *iampolicy.Request {
	return r.first(func(one recorded) bool { return !one.allowed(identity) })
}

// DeniedWithout returns the first request that documents allow, and deny without one of their statements, nil if
// there is none.
func (r *Recorder) DeniedWithout(t *testing.T, documents []permissions.Document, sid string) *iampolicy.Request {
	t.Helper()
	all, others := without(t, documents, ""), without(t, documents, sid)
	return r.first(func(one recorded) bool { return one.allowed(all) && !one.allowed(others) })
}

// first returns the first request with a property, nil if there is none.
func (r *Recorder) first(has func(recorded) bool) *iampolicy.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.requests {
		if has(one) {
			return one.Request
		}
	}
	return nil
}

// allowed reports whether other policies of the user allow a request.
func (r recorded) allowed(identity []*iampolicy.Policy) bool {
	policies := *r.policies
	policies.Identity = identity
	return iampolicy.Decide(r.Request, &policies).Allowed
}

// Check checks that documents allow every request, and that without any one of their chosen statements, a
// request is denied. Up to the first denial, a user without that statement makes the same requests, so it need
// not run again for each statement. Unnoticed are the statements without which nothing is denied, and why they
// stay. Check returns the first request that is denied without each statement.
func (r *Recorder) Check(
	t *testing.T, documents []permissions.Document, chosen func(sid string) bool, unnoticed map[string]string,
) (noticed map[string]string) {
	t.Helper()
	t.Logf("%s made %d different requests", r.user, len(r.requests))
	if request := r.Denied(without(t, documents, "")); request != nil {
		t.Errorf("the least policies deny %s on %s", request.Action, request.Resource)
	}
	noticed = map[string]string{}
	for _, d := range documents {
		for _, s := range d.Statements {
			if !chosen(s.Sid) {
				continue
			}
			request, why := r.DeniedWithout(t, documents, s.Sid), unnoticed[s.Sid]
			switch {
			case request != nil && why != "":
				t.Errorf("without the statement %s, %s is denied: it is no longer unnoticed", s.Sid, request.Action)
			case request != nil:
				noticed[s.Sid] = request.Action
			case why == "":
				t.Errorf("without the statement %s, nothing is denied: remove it", s.Sid)
			default:
				noticed[s.Sid] = why
			}
		}
	}
	return noticed
}

// without parses documents without one of their statements.
func without(t *testing.T, documents []permissions.Document, sid string) (policies []*iampolicy.Policy) {
	t.Helper()
	for _, d := range documents {
		d.Statements = slices.DeleteFunc(slices.Clone(d.Statements), func(s permissions.Statement) bool { return s.Sid == sid })
		if len(d.Statements) > 0 {
			policies = append(policies, Parse(t, d.Name, d.JSON()))
		}
	}
	return policies
}

// Parse parses a policy.
func Parse(t *testing.T, name string, document []byte) *iampolicy.Policy {
	t.Helper()
	policy, err := iampolicy.ParseIdentity(name, string(document))
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// CheckTable checks that the table in a file, which the reference of permissions shows, has exactly the
// statements, or rewrites it. Which request is the first depends on the order of concurrent ones.
func CheckTable(t *testing.T, file string, noticed map[string]string, update bool) {
	t.Helper()
	if update {
		data, err := json.MarshalIndent(noticed, "", "  ")
		if err == nil {
			err = os.WriteFile(file, append(data, '\n'), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file) //nolint:gosec // The test names the file.
	if err != nil {
		t.Fatal(err)
	}
	var known map[string]string
	if err := json.Unmarshal(data, &known); err != nil {
		t.Fatal(err)
	}
	for sid := range noticed {
		if known[sid] == "" {
			t.Errorf("%s does not have the statement %s; run with -update, and make generate", file, sid)
		}
	}
	for sid := range known {
		if noticed[sid] == "" {
			t.Errorf("%s has the statement %s, which the policies do not have; run with -update, and make generate", file, sid)
		}
	}
}
