package fault

import (
	"path"
	"time"
)

// Rule selects calls and says how they fail. Service, Operation, ResourceType and Name are globs as
// in [path.Match]; an empty one matches everything. A rule with a ResourceType applies only to
// resources of stacks; a rule without one applies only to API calls.
type Rule struct {
	// Service is the signing name: "sqs", "cloudformation", "events".
	Service string
	// Operation is the API operation; for resources "Create", "Update", "Delete" or "Read".
	Operation string
	// ResourceType is a CloudFormation type: "AWS::SQS::Queue".
	ResourceType string
	// Name is the name, or the last part of the URL or ARN, of what the call acts on; for resources
	// the logical or the physical ID.
	Name string
	// Skip is the number of matching calls that pass before the rule applies.
	Skip int
	// Times is the number of calls that the rule applies to; 0 means all.
	Times int
	// Latency is added to the time of the call.
	Latency time.Duration
	// Code and Message make the call fail with this AWS error.
	Code, Message string
	// Status is the HTTP status of the error. The default is 400.
	Status int
	// AfterEffect makes the call take effect before it fails or hangs up.
	AfterEffect bool
	// HangUp closes the connection without an answer.
	HangUp bool
	// Deny returns AccessDenied and names the missing action.
	Deny bool
}

// Throttle returns a rule that throttles the operation with AWS's own message.
func Throttle(service, operation string, times int) Rule {
	return Rule{
		Service: service, Operation: operation, Times: times,
		Code: "Throttling", Message: "Rate exceeded", Status: 400,
	}
}

func (r *Rule) matches(c *CallInfo) bool {
	if (r.ResourceType == "") != (c.ResourceType == "") {
		return false
	}
	return glob(r.Service, c.Service) && glob(r.Operation, c.Operation) &&
		glob(r.ResourceType, c.ResourceType) && (r.Name == "" || glob(r.Name, c.Name) || glob(r.Name, c.PhysicalID))
}

func glob(pattern, s string) bool {
	if pattern == "" || pattern == s {
		return true
	}
	ok, err := path.Match(pattern, s)
	return err == nil && ok
}
