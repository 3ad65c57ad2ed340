package cloudformation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/cloudformation/simulated"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/property"
	"github.com/aws-operator/aws-operator/internal/simulator/resource"
	"github.com/aws-operator/aws-operator/internal/simulator/tagging"
)

// outcome is the result of a call of a provider.
type outcome struct {
	resource.Result

	err     error
	latency time.Duration
}

// call calls the provider of a member's type, subject to faults. It releases the stack's lock
// during the call.
func (s *stack) call(
	operation string, m *member, r resource.Request, do func(context.Context, resource.Provider, resource.Request) (resource.Result, error),
) outcome {
	effect := s.faults(fault.CallInfo{
		Service: "cloudformation", Operation: operation, ResourceType: m.kind, Name: m.id, PhysicalID: m.physicalID,
	})
	action := simulated.Action(m.kind, operation)
	service, verb, _ := strings.Cut(action, ":")
	called := s.faults(fault.CallInfo{Service: service, Operation: verb, Name: nameOf(m, r)})
	out := outcome{latency: s.engine.latency(m.kind, operation) + effect.Latency + called.Latency}
	if out.err = s.denial(operation, action); out.err != nil {
		return out
	}
	if out.err = tagRefusal(r); out.err != nil {
		return out
	}
	if out.err = s.refuseRole(operation, m.kind, r); out.err != nil {
		return out
	}
	failure := s.failure(effect, action)
	if failure == nil {
		failure = s.failure(called, action)
	}
	if failure != nil && !effect.AfterEffect && !called.AfterEffect {
		out.err = failure
		return out
	}
	provider := s.engine.Provider(m.kind)
	s.outside(func() { out.Result, out.err = do(s.background(), provider, r) })
	if out.err == nil && failure != nil {
		out.err = failure
	}
	return out
}

// denial returns an error if CloudFormation may not take an action for the caller. It does not
// consider the resource that the action is on.
func (s *stack) denial(operation, action string) error {
	if operation == OpRead {
		return nil
	}
	reason := s.engine.options.Env.Control.Denial(s.callerOf(action))
	if reason == "" {
		return nil
	}
	return s.notAuthorized(action, reason)
}

// callerOf returns the request of the stack's caller, or of its service role, for an action.
func (s *stack) callerOf(action string) *access.Request {
	key, caller := s.accessKey, s.principal
	if role := s.settings.roleARN; role != "" { // a service role acts, not the caller
		key, caller = "", &access.Principal{Account: s.space.Account, ARN: s.caller(), Role: role}
		if of, ok := s.engine.options.Env.Control.Role(role); ok {
			caller.UserID = of.ID + ":AWSCloudFormation"
		}
	}
	return s.asCaller(key, s.caller(), caller, action)
}

// asCaller returns the request for an action that CloudFormation takes for a principal.
func (s *stack) asCaller(key, arn string, caller *access.Principal, action string) *access.Request {
	return &access.Request{
		AccessKey: key, Principal: arn, Caller: caller, Action: action, Context: map[string][]string{
			access.CalledVia: {"cloudformation.amazonaws.com"}, "aws:requestedregion": {s.space.Region}, "aws:securetransport": {"true"},
		},
	}
}

// notAuthorized returns the error of an action that CloudFormation may not take.
func (s *stack) notAuthorized(action, reason string) error {
	return resource.Errorf(resource.AccessDenied, "%s (Service: %s, Status Code: 403, Request ID: %s)",
		fault.DenialMessage(s.caller(), action, "", reason), title(action), newUUID())
}

func nameOf(m *member, r resource.Request) string {
	if m.physicalID != "" {
		return m.physicalID
	}
	parts := strings.Split(m.kind, "::")
	if name, ok := r.Properties[parts[len(parts)-1]+"Name"].(string); ok {
		return name
	}
	return m.id
}

// failure returns the error of a fault, or nil.
func (s *stack) failure(effect fault.Effect, action string) error {
	switch {
	case effect.Deny:
		return s.notAuthorized(action, "")
	case effect.Failure != nil:
		return resource.Errorf(handlerCode(effect.Failure.Code), "%s (Service: %s, Status Code: %d, Request ID: %s)",
			effect.Failure.Message, title(action), effect.Failure.Status, newUUID())
	case effect.HangUp:
		return resource.Errorf(resource.InternalFailure, "Internal Failure")
	}
	return nil
}

func title(action string) string {
	service, _, _ := strings.Cut(action, ":")
	return strings.ToUpper(service[:1]) + service[1:]
}

// handlerCode maps a service's error code to a handler's.
func handlerCode(code string) string {
	switch code {
	case "Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException":
		return resource.ThrottlingError
	case "AccessDenied", "AccessDeniedException":
		return resource.AccessDenied
	case "ValidationError", "ValidationException", "InvalidParameterValue":
		return resource.InvalidRequest
	case resource.AlreadyExists, resource.NotFound, resource.InvalidRequest, resource.ResourceConflict, resource.NotStabilized,
		resource.ServiceLimit, resource.NotUpdatable, resource.ServiceInternal, resource.InternalFailure:
		return code
	}
	return resource.GeneralService
}

// caller returns the principal for which the stack's resources are created.
func (s *stack) caller() string {
	if role := s.settings.roleARN; role != "" {
		name := role[strings.LastIndexByte(role, '/')+1:]
		return "arn:" + s.engine.partition() + ":sts::" + s.space.Account + ":assumed-role/" + name + "/AWSCloudFormation"
	}
	if s.principal != nil {
		return s.principal.ARN
	}
	return "arn:" + s.engine.partition() + ":iam::" + s.space.Account + ":root"
}

// handlerText returns a resource handler's error as CloudFormation shows it.
func handlerText(err error, token string) string {
	var handlerErr *resource.Error
	if !errors.As(err, &handlerErr) {
		return err.Error()
	}
	return fmt.Sprintf("Resource handler returned message: \"%s\" (RequestToken: %s, HandlerErrorCode: %s)",
		handlerErr.Message, token, handlerErr.Code)
}

func isNotFound(err error) bool {
	var handlerErr *resource.Error
	return errors.As(err, &handlerErr) && handlerErr.Code == resource.NotFound
}

// request returns the request to a provider about a member.
func (s *stack) request(m *member, token string) resource.Request {
	return resource.Request{
		Account: s.space.Account, Region: s.space.Region, StackID: s.id, StackName: s.name, LogicalID: m.id,
		Token: token, PhysicalID: m.physicalID, Principal: s.caller(),
	}
}

// tagRefusal returns an error if a resource cannot have its own tags with those of the stack. The
// resource's service refuses them, each in other words.
// https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html#id_tags_naming_best_practices
func tagRefusal(r resource.Request) error {
	own := map[string]string{}
	switch tags := r.Properties["Tags"].(type) {
	case map[string]any:
		for key := range tags {
			own[key] = ""
		}
	case []any:
		for _, tag := range tags {
			if tag, ok := tag.(map[string]any); ok {
				key, _ := property.Text(tag["Key"])
				own[key] = ""
			}
		}
	}
	for key := range own {
		if tagging.IsReserved(key) {
			return resource.Errorf(
				resource.InvalidRequest, "Invalid request provided: Tag keys starting with 'aws:' are reserved for internal use: %s", key,
			)
		}
	}
	if tagging.Exceed(r.Tags, own) {
		return resource.Errorf(resource.InvalidRequest, "Invalid request provided: The maximum number of tags for a resource is 50.")
	}
	return nil
}

// tagsFor returns the tags that CloudFormation sets on every resource:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-properties-resource-tags.html
func (s *stack) tagsFor(rev *revision, id string) map[string]string {
	out := make(map[string]string, len(rev.tags)+3)
	for _, t := range rev.tags {
		out[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	maps.Copy(out, map[string]string{
		"aws:cloudformation:stack-name": s.name,
		"aws:cloudformation:stack-id":   s.id,
		"aws:cloudformation:logical-id": id,
	})
	return out
}
