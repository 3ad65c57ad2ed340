package wire

import (
	"reflect"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
)

// WithPolicies limits principals to what their policies allow.
func WithPolicies(policies *access.Policies) Option { return func(r *Router) { r.policies = policies } }

// authorize returns an error if the caller may not make the call. All calls of all services are
// authorized here.
func (r *Router) authorize(q *request) error {
	if r.policies == nil || !q.signed {
		return nil
	}
	c := q.call
	asked := access.Request{AccessKey: c.AccessKeyID, Principal: c.Principal, Resource: r.resourceOf(q)}
	if asked.Action = access.Action(Action(c.Service, c.Operation)); asked.Action == "" {
		return nil
	}
	if reason := r.policies.Denial(asked); reason != "" {
		return r.denialOf(q, asked.Action, reason)
	}
	if asked.Action = access.Tagging(c.Service); asked.Action != "" && tagsWhatItCreates(q) {
		asked.Resource = ""
		if reason := r.policies.Denial(asked); reason != "" {
			return r.denialOf(q, asked.Action, reason)
		}
	}
	return nil
}

// resourceOf returns the ARN that a call acts on, or "" if the request does not contain it.
func (r *Router) resourceOf(q *request) string {
	switch {
	case q.call.Service == "s3" && strings.Contains(q.call.Operation, "Object") && !strings.HasPrefix(q.call.Operation, "ListObject"):
		key := strings.TrimPrefix(q.URL.Path, "/")
		if !strings.HasPrefix(q.Host, q.name+".") {
			key = strings.TrimPrefix(strings.TrimPrefix(key, q.name), "/")
		}
		if key == "" { // DeleteObjects names objects in its body
			key = "*"
		}
		return "arn:" + r.partition + ":s3:::" + q.name + "/" + key
	case q.call.Operation == "AssumeRole":
		return textIn(q.input, "RoleArn")
	}
	if arn := r.resourceARN(q); arn != "*" {
		return arn
	}
	if group := textIn(q.input, "AutoScalingGroupName"); group != "" {
		c := q.call
		return "arn:" + r.partition + ":autoscaling:" + c.Region + ":" + c.Account + ":autoScalingGroup:*:autoScalingGroupName/" + group
	}
	return ""
}

// textIn returns a string member of an input, or "" if the input has none.
func textIn(input any, member string) string {
	if input == nil {
		return ""
	}
	f := reflect.ValueOf(input).Elem().FieldByName(member)
	if !f.IsValid() {
		return ""
	}
	if text, ok := reflect.TypeAssert[*string](f); ok && text != nil {
		return *text
	}
	return ""
}

// tagsWhatItCreates reports whether a call creates a resource with tags.
func tagsWhatItCreates(q *request) bool {
	creates := strings.HasPrefix(q.call.Operation, "Create") && q.call.Operation != "CreateTags" || q.call.Operation == "RunInstances"
	if !creates || q.input == nil {
		return false
	}
	for _, member := range []string{"TagSpecifications", "Tags"} {
		if f := reflect.ValueOf(q.input).Elem().FieldByName(member); f.IsValid() && f.Len() > 0 {
			return true
		}
	}
	return false
}
