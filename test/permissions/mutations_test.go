package permissions_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws-operator/aws-operator/internal/permissions"
	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
)

// update rewrites the table that the permissions reference shows.
var update = flag.Bool("update", false, "rewrite testdata/mutations.json")

const mutations = "testdata/mutations.json"

// unnoticed are the statements without which no request of the test is denied, and why they stay.
var unnoticed = map[string]string{
	"Consoles": "nothing: the test has no instance that does not become a node",
}

// recorder records the operator's requests.
type recorder struct {
	mu       sync.Mutex
	known    map[string]bool
	requests []recorded
}

// recorded is a request, and the policies that decided it.
type recorded struct {
	*iampolicy.Request
	policies *iampolicy.Policies
}

// add records the first request for an action on a resource, directly or through other services.
func (r *recorder) add(request *iampolicy.Request, policies *iampolicy.Policies) {
	if !strings.HasSuffix(request.Principal, ":user/"+operatorName) {
		return
	}
	key := strings.Join(slices.Concat(
		[]string{request.Action, request.Resource}, request.Context["aws:calledvia"], request.Context["kms:viaservice"],
	), " ")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[string]bool{}
	}
	if !r.known[key] {
		r.known[key] = true
		r.requests = append(r.requests, recorded{request, policies})
	}
}

// denied returns the first request that other policies of the operator deny.
func (r *recorder) denied(identity []*iampolicy.Policy) *iampolicy.Request {
	for _, one := range r.requests {
		policies := *one.policies
		policies.Identity = identity
		if decision := iampolicy.Decide(one.Request, &policies); !decision.Allowed {
			return one.Request
		}
	}
	return nil
}

// check checks that documents, and those in config/iam, allow every request; and that without any
// one of their statements, a request is denied. Up to the first denial, an operator with that
// statement missing makes the same requests, so it need not run again for each statement.
func (r *recorder) check(t *testing.T, documents []permissions.Document) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Logf("the operator made %d different requests", len(r.requests))
	if request := r.denied(parse(t, documents, "")); request != nil {
		t.Errorf("the least policies deny %s on %s", request.Action, request.Resource)
	}
	if request := r.denied(shipped(t)); request != nil {
		t.Errorf("the policies in config/iam deny %s on %s", request.Action, request.Resource)
	}
	noticed := map[string]string{}
	for _, d := range documents {
		for _, s := range d.Statements {
			switch request := r.denied(parse(t, documents, s.Sid)); {
			case request != nil:
				noticed[s.Sid] = request.Action
			case unnoticed[s.Sid] == "":
				t.Errorf("without the statement %s, nothing is denied: remove it", s.Sid)
			default:
				noticed[s.Sid] = unnoticed[s.Sid]
			}
			if request := noticed[s.Sid]; request != unnoticed[s.Sid] && unnoticed[s.Sid] != "" {
				t.Errorf("without the statement %s, %s is denied: it is no longer unnoticed", s.Sid, request)
			}
		}
	}
	checkTable(t, noticed)
}

// checkTable checks that the table has exactly the statements. Which request is the first depends on
// the order of concurrent ones.
func checkTable(t *testing.T, noticed map[string]string) {
	t.Helper()
	if *update {
		data, err := json.MarshalIndent(noticed, "", "  ")
		if err == nil {
			err = os.WriteFile(mutations, append(data, '\n'), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(mutations)
	if err != nil {
		t.Fatal(err)
	}
	var known map[string]string
	if err := json.Unmarshal(data, &known); err != nil {
		t.Fatal(err)
	}
	for sid := range noticed {
		if known[sid] == "" {
			t.Errorf("%s does not have the statement %s; run with -update, and make generate", mutations, sid)
		}
	}
	for sid := range known {
		if noticed[sid] == "" {
			t.Errorf("%s has the statement %s, which the policies do not have; run with -update, and make generate", mutations, sid)
		}
	}
}

// parse parses documents without one of their statements.
func parse(t *testing.T, documents []permissions.Document, without string) (policies []*iampolicy.Policy) {
	t.Helper()
	for _, d := range documents {
		d.Statements = slices.DeleteFunc(slices.Clone(d.Statements), func(s permissions.Statement) bool { return s.Sid == without })
		if len(d.Statements) > 0 {
			policies = append(policies, parseOne(t, d.Name, d.JSON()))
		}
	}
	return policies
}

// shipped parses the documents in config/iam for modeled kinds and clusters.
func shipped(t *testing.T) (policies []*iampolicy.Policy) {
	t.Helper()
	for _, pattern := range []string{"operator-*.json", "cloudformation-*.json"} {
		files, err := filepath.Glob(filepath.Join("../../config/iam", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			policies = append(policies, parseOne(t, file, data))
		}
	}
	return policies
}

func parseOne(t *testing.T, name string, document []byte) *iampolicy.Policy {
	t.Helper()
	policy, err := iampolicy.ParseIdentity(name, string(document))
	if err != nil {
		t.Fatal(err)
	}
	return policy
}
