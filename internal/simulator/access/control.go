package access

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
)

// Mode is what happens to requests that AWS would refuse because of who sends them.
type Mode string

const (
	// Enforce refuses requests without valid credentials, and those that no policy allows.
	Enforce Mode = "enforce"
	// Audit reports such requests and answers them.
	Audit Mode = "audit"
	// Off verifies no signature, except of presigned STS requests, and lets every principal of an
	// account do everything, except those that Policies limit.
	Off Mode = "off"
)

// Modes are all modes, for help texts.
var Modes = []Mode{Enforce, Audit, Off}

// ParseMode returns the mode with a name.
func ParseMode(name string) (Mode, error) {
	if slices.Contains(Modes, Mode(name)) {
		return Mode(name), nil
	}
	names := make([]string, len(Modes))
	for i, mode := range Modes {
		names[i] = string(mode)
	}
	return "", fmt.Errorf("%q is not one of %s", name, strings.Join(names, ", "))
}

// Principal is who makes a request: the owner of an access key.
type Principal struct {
	// Account owns the key.
	Account string
	// ARN and UserID identify the principal: arn:aws:iam::…:user/ann, AIDA…. An anonymous caller has
	// neither.
	ARN, UserID string
	// Expires is when a session's key expires; zero for a key that does not expire. Issued is when it
	// was issued.
	Expires, Issued time.Time
	// Role is the ARN of a session's role, with its path, which the session's ARN does not have.
	Role string
	// Session are the session policies; nil for none.
	Session []*iampolicy.Policy
	// Tags are the tags of the session, of which those in Transitive are passed on to the next role.
	Tags       map[string]string
	Transitive []string
	// SourceIdentity is the name that was set when a role was assumed. Provider is the identity
	// provider of a federated session.
	SourceIdentity, Provider string
}

// IsRoot reports whether the principal is the root user of its account.
func (p *Principal) IsRoot() bool { return strings.HasSuffix(p.ARN, ":iam::"+p.Account+":root") }

// IsSession reports whether the principal is a session of a role.
func (p *Principal) IsSession() bool { return strings.Contains(p.ARN, ":assumed-role/") }

// Control decides requests by the policies that exist. Its zero value is [Off].
type Control struct {
	// Mode is what happens to requests that AWS would refuse; empty is [Off].
	Mode Mode
	// Log receives a line for each request that would be refused in mode [Audit].
	Log func(line string)
	// Policies, in every mode, take the place of the principals' own.
	Policies *Policies
	// Principals are the users and roles.
	Principals Directory
	// Decided, if set, receives each request that policies decide, and these policies. The request waits
	// while it runs. It must change neither.
	Decided func(*iampolicy.Request, *iampolicy.Policies)
	// Now returns the time.
	Now func() time.Time
}

// Enforces reports whether requests are refused; Checks whether they are at least reported.
func (c *Control) Enforces() bool { return c != nil && c.Mode == Enforce }

// Checks reports whether requests are verified.
func (c *Control) Checks() bool { return c != nil && (c.Mode == Enforce || c.Mode == Audit) }

// Report reports a request that would be refused.
func (c *Control) Report(format string, args ...any) {
	if c.Log != nil {
		c.Log(fmt.Sprintf(format, args...))
	}
}
