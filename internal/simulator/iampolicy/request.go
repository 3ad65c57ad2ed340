package iampolicy

import "strings"

// Request is what a principal asks for.
type Request struct {
	// Principal is the ARN of the user, or of the session of a role. It is empty if a service or an
	// anonymous caller makes the request.
	Principal string
	// Role is the ARN of the session's role, with its path. The default is the one without a path.
	Role string
	// Service is the service that makes the request for itself, as "ec2.amazonaws.com". Federated is
	// the identity provider of a request to assume a role.
	Service, Federated string
	// Action is the IAM action, as "sqs:CreateQueue".
	Action string
	// Resource is the ARN that the action is on. It is empty if the ARN is unknown, which every Resource
	// matches; "*" is the resource of actions that support no resources.
	Resource string
	// Context has the values of the condition keys. Keys are in lower case.
	Context map[string][]string
}

// values returns the values of a condition key, whose case does not matter.
func (r *Request) values(key string) []string { return r.Context[strings.ToLower(key)] }

func (r *Request) role() string {
	if r.Role != "" {
		return r.Role
	}
	return RoleOf(r.Principal)
}
