package access

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

// Policies are the policies of all principals. A nil pointer allows everything. Policies are safe
// for concurrent use.
type Policies struct {
	mu sync.RWMutex
	of map[string][]statement
}

// Request is a request of a principal.
type Request struct {
	// AccessKey is the ID of the key that signed the request; Principal is the ARN of its owner.
	AccessKey, Principal string
	// Action is the IAM action, for example "s3:GetObject".
	Action string
	// Resource is the ARN that the action is on. It is empty if the ARN is unknown, which every
	// Resource matches.
	Resource string
	// Context holds the values of condition keys.
	Context map[string][]string
}

type statement struct {
	actions, resources []string
	conditions         []condition
}

type condition struct {
	key    string
	values []string
	like   bool
}

// Parse parses policy documents by principal: an access key ID, or the ARN of a role, whose
// policies apply to its sessions. It returns an error for any element of a document that this
// package does not evaluate.
func Parse(documents map[string][]string) (*Policies, error) {
	p := &Policies{of: map[string][]statement{}}
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
	statements := []statement{}
	for i, document := range documents {
		more, err := parse(document)
		if err != nil {
			return fmt.Errorf("policy %d of %s: %w", i+1, principal, err)
		}
		statements = append(statements, more...)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of[principal] = statements
	return nil
}

// Allows reports whether a principal may make the request.
func (p *Policies) Allows(r Request) bool {
	if p == nil {
		return true
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	statements, limited := p.of[r.AccessKey]
	if !limited {
		statements, limited = p.of[roleOf(r.Principal)]
	}
	return !limited || slices.ContainsFunc(statements, func(s statement) bool { return s.allows(r) })
}

// roleOf returns the ARN of a session's role without the role's path, which a session's ARN does
// not have.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-arns
func roleOf(principal string) string {
	before, session, ok := strings.Cut(principal, ":assumed-role/")
	if !ok {
		return principal
	}
	role, _, _ := strings.Cut(session, "/")
	return strings.Replace(before, ":sts:", ":iam:", 1) + ":role/" + role
}

func (s *statement) allows(r Request) bool {
	// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_action.html:
	// case does not matter.
	action := strings.ToLower(r.Action)
	if !slices.ContainsFunc(s.actions, func(a string) bool { return matches(strings.ToLower(a), action) }) {
		return false
	}
	if r.Resource != "" && !slices.ContainsFunc(s.resources, func(pattern string) bool { return matches(pattern, r.Resource) }) {
		return false
	}
	for _, c := range s.conditions {
		if !slices.ContainsFunc(r.Context[c.key], c.holds) {
			return false
		}
	}
	return true
}

func (c *condition) holds(value string) bool {
	return slices.ContainsFunc(c.values, func(want string) bool { return want == value || c.like && matches(want, value) })
}

// matches reports whether a text matches a pattern, in which * stands for any characters and ? for
// one.
func matches(pattern, text string) bool {
	// To IAM a slash is an ordinary character; to path.Match it is a separator.
	flat := strings.NewReplacer("/", "\x00", "[", `\[`, `\`, `\\`)
	ok, err := path.Match(flat.Replace(pattern), strings.ReplaceAll(text, "/", "\x00"))
	return err == nil && ok
}

// texts is a string or a list of them.
type texts []string

// UnmarshalJSON accepts either form.
func (t *texts) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = texts{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

func parse(document string) ([]statement, error) {
	var policy struct {
		Version   string
		ID        string `json:"Id"`
		Statement []struct {
			Sid, Effect      string
			Action, Resource texts
			Condition        map[string]map[string]texts
		}
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(document)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&policy); err != nil {
		return nil, fmt.Errorf("the simulator cannot evaluate it: %w", err)
	}
	statements := make([]statement, 0, len(policy.Statement))
	for i, from := range policy.Statement {
		if from.Effect != "Allow" || len(from.Action) == 0 || len(from.Resource) == 0 {
			return nil, fmt.Errorf("statement %d: the simulator evaluates statements with the Effect Allow, an Action and a Resource", i+1)
		}
		to := statement{actions: from.Action, resources: from.Resource}
		for operator, keys := range from.Condition {
			if !slices.Contains([]string{"StringEquals", "StringLike", "ForAnyValue:StringEquals", "ForAnyValue:StringLike"}, operator) {
				return nil, fmt.Errorf("statement %d: the simulator does not evaluate the condition operator %s", i+1, operator)
			}
			for key, values := range keys {
				to.conditions = append(to.conditions, condition{key: key, values: values, like: strings.HasSuffix(operator, "Like")})
			}
		}
		statements = append(statements, to)
	}
	return statements, nil
}
