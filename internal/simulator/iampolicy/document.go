package iampolicy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Versions of the policy language. Policies without a version have the old one, in which policy
// variables are plain text.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_version.html
const (
	version    = "2012-10-17"
	oldVersion = "2008-10-17"
)

// Policy is a parsed policy document. It is immutable, and safe for concurrent use.
type Policy struct {
	// Name identifies the policy in a [Decision].
	Name string

	statements []statement
}

type statement struct {
	deny      bool
	actions   element
	resources element
	principal *principals
	// conditions must all hold.
	conditions []condition
	// variables are substituted.
	variables bool
}

// element is Action or NotAction, or Resource or NotResource.
type element struct {
	patterns []string
	not      bool
}

// Errors that wrap these mean that IAM answers with a text of its own.
var (
	ErrNoAction   = errors.New("an Action or NotAction is missing")
	ErrNoVendor   = errors.New("an action must be * or begin with the prefix of a service and a colon")
	ErrNoResource = errors.New("a Resource or NotResource is missing")
	ErrPrincipal  = errors.New("an identity-based policy has no Principal")

	ErrNoPrincipal = errors.New("a Principal is missing")
	ErrResource    = errors.New("a trust policy has no Resource")
)

// texts is a string or a list of strings. IAM accepts booleans and numbers where it expects the
// text of one.
type texts []string

// UnmarshalJSON accepts every form.
func (t *texts) UnmarshalJSON(data []byte) error {
	var values []any
	if data[0] == '[' {
		if err := json.Unmarshal(data, &values); err != nil {
			return err
		}
	} else {
		values = make([]any, 1)
		if err := json.Unmarshal(data, &values[0]); err != nil {
			return err
		}
	}
	*t = make(texts, 0, len(values))
	for _, value := range values {
		switch value := value.(type) {
		case string:
			*t = append(*t, value)
		case bool, float64:
			*t = append(*t, fmt.Sprint(value))
		default:
			return fmt.Errorf("%v is not a string", value)
		}
	}
	return nil
}

// statements is a statement or a list of statements.
type statements []statementJSON

// UnmarshalJSON accepts either form, and refuses elements that do not exist.
func (s *statements) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if data[0] == '[' {
		return decoder.Decode((*[]statementJSON)(s))
	}
	*s = make(statements, 1)
	return decoder.Decode(&(*s)[0])
}

type statementJSON struct {
	Sid                     string // for readers only
	Effect                  string
	Principal, NotPrincipal *principals
	Action, NotAction       texts
	Resource, NotResource   texts
	Condition               map[string]map[string]texts
}

// Parse parses a policy document. It returns an error that names the statement and the element if
// the document is not in the policy language.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html
func Parse(name, document string) (*Policy, error) {
	var parsed struct {
		Version   string
		ID        string `json:"Id"`
		Statement statements
	}
	decoder := json.NewDecoder(strings.NewReader(document))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&parsed); err != nil {
		return nil, fmt.Errorf("the policy is not valid: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the policy is not valid: text follows the document")
	}
	if parsed.Version != "" && parsed.Version != version && parsed.Version != oldVersion {
		return nil, fmt.Errorf("the version of the policy is %q: it must be %s or %s", parsed.Version, version, oldVersion)
	}
	if len(parsed.Statement) == 0 {
		return nil, errors.New("the policy has no statement")
	}
	p := &Policy{Name: name, statements: make([]statement, 0, len(parsed.Statement))}
	for i := range parsed.Statement {
		s, err := parsed.Statement[i].parse(parsed.Version == version)
		if err != nil {
			return nil, fmt.Errorf("statement %d: %w", i+1, err)
		}
		p.statements = append(p.statements, s)
	}
	return p, nil
}

// ParseIdentity parses the document of a policy that users and roles have. Its statements name no
// principal, and each names resources.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_resource.html
func ParseIdentity(name, document string) (*Policy, error) {
	p, err := Parse(name, document)
	if err != nil {
		return nil, err
	}
	for i := range p.statements {
		switch s := &p.statements[i]; {
		case s.principal != nil:
			return nil, fmt.Errorf("statement %d: %w", i+1, ErrPrincipal)
		case len(s.resources.patterns) == 0:
			return nil, fmt.Errorf("statement %d: %w", i+1, ErrNoResource)
		}
	}
	return p, nil
}

// ParseTrust parses the trust policy of a role. Its statements name principals, and no resources.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles.html
func ParseTrust(document string) (*Policy, error) {
	p, err := Parse("trust policy", document)
	if err != nil {
		return nil, err
	}
	for i := range p.statements {
		switch s := &p.statements[i]; {
		case s.principal == nil:
			return nil, fmt.Errorf("statement %d: %w", i+1, ErrNoPrincipal)
		case len(s.resources.patterns) > 0:
			return nil, fmt.Errorf("statement %d: %w", i+1, ErrResource)
		}
	}
	return p, nil
}

func (from *statementJSON) parse(variables bool) (statement, error) {
	s := statement{variables: variables}
	switch from.Effect {
	case "Allow":
	case "Deny":
		s.deny = true
	default:
		return s, fmt.Errorf("the Effect is %q: it must be Allow or Deny", from.Effect)
	}
	var err error
	if s.actions, err = one("Action", from.Action, from.NotAction); err != nil {
		return s, err
	}
	if len(s.actions.patterns) == 0 {
		return s, ErrNoAction
	}
	for _, action := range s.actions.patterns {
		if service, _, ok := strings.Cut(action, ":"); action != "*" && (!ok || service == "") {
			return s, fmt.Errorf("%w: %q", ErrNoVendor, action)
		}
	}
	for i, action := range s.actions.patterns {
		s.actions.patterns[i] = strings.ToLower(action) // case does not matter
	}
	if s.resources, err = one("Resource", from.Resource, from.NotResource); err != nil {
		return s, err
	}
	switch {
	case from.Principal != nil && from.NotPrincipal != nil:
		return s, errors.New("it has a Principal and a NotPrincipal")
	case from.Principal != nil:
		s.principal = from.Principal
	case from.NotPrincipal != nil:
		s.principal = from.NotPrincipal
		s.principal.not = true
	}
	// The order decides which condition an error names first.
	for _, operator := range slices.Sorted(maps.Keys(from.Condition)) {
		for _, key := range slices.Sorted(maps.Keys(from.Condition[operator])) {
			c, err := parseCondition(operator, key, from.Condition[operator][key])
			if err != nil {
				return s, err
			}
			s.conditions = append(s.conditions, c)
		}
	}
	return s, nil
}

// one returns an element or its negation, of which a statement has at most one.
func one(name string, is, isNot texts) (element, error) {
	if is != nil && isNot != nil {
		return element{}, fmt.Errorf("it has %s and Not%s", name, name)
	}
	if isNot != nil {
		return element{patterns: isNot, not: true}, nil
	}
	return element{patterns: is}, nil
}
