package fault

import (
	"path"
	"time"
)

// Rule says which calls go wrong and how. Service, Operation, ResourceType and
// Name are globs as in [path.Match]; an empty one matches everything. A rule
// with a ResourceType applies to the resources of a stack only, one without to
// API calls only.
type Rule struct {
	// Service is the signing name: "sqs", "cloudformation", "events".
	Service string
	// Operation is the API operation, or for resources "Create", "Update",
	// "Delete" or "Read".
	Operation string
	// ResourceType is a CloudFormation type: "AWS::SQS::Queue".
	ResourceType string
	// Name is the name, URL's last part or ARN's last part of what the call is
	// about; for resources the logical or the physical id.
	Name string
	// Skip is how many matching calls pass before the rule applies.
	Skip int
	// Times is how many calls the rule applies to; 0 is all of them.
	Times int
	// Latency is added to the call.
	Latency time.Duration
	// Code and Message make the call fail with this AWS error.
	Code, Message string
	// Status is the error's HTTP status, 400 unless set.
	Status int
	// AfterEffect does what was asked before it fails or hangs up.
	AfterEffect bool
	// HangUp closes the connection without an answer.
	HangUp bool
	// Deny answers with AccessDenied and names the action that is missing.
	Deny bool
}

// Throttle returns a rule that throttles the operation with AWS's own words.
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
