package awsapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

// Kind classifies a failure, and so determines what to do next.
type Kind string

const (
	// Denied means that the caller lacks a permission.
	Denied Kind = "AccessDenied"
	// Throttled means that AWS limits the rate of calls.
	Throttled Kind = "Throttled"
	// Unreachable means that no answer arrived.
	Unreachable Kind = "AWSUnreachable"
	// Expired means that the credentials have expired.
	Expired Kind = "CredentialsExpired"
	// BadCredentials means that credentials are missing or that AWS rejects them.
	BadCredentials Kind = "CredentialsInvalid"
	// Unavailable means that AWS returned an internal error.
	Unavailable Kind = "AWSUnavailable"
	// LimitReached means that a quota of the account is exhausted.
	LimitReached Kind = "LimitReached"
	// Rejected means that AWS understood and rejected the request.
	Rejected Kind = "Rejected"
	// Interrupted means that the caller canceled the call, for example because it stops.
	Interrupted Kind = "Interrupted"
)

// Failure is a failed call with a message for the user. It implements error; Unwrap returns the
// SDK's error.
type Failure struct {
	// Kind classifies the failure.
	Kind Kind
	// Code is AWS's error code, empty if AWS did not answer.
	Code string
	// Reason is a CamelCase word for a condition.
	Reason string
	// Message is a sentence that says what to do, without the SDK's text. It does not say who
	// retries, because it is used by the operator, which retries, and by commands, which do not.
	Message string
	// Action is the missing permission of a denied call, such as "cloudformation:CreateStack".
	Action string

	cause error
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }

// Unwrap returns the SDK's error.
func (f *Failure) Unwrap() error { return f.cause }

// Transient reports whether the same call may succeed later without a user's action.
func (f *Failure) Transient() bool {
	switch f.Kind {
	case Throttled, Unreachable, Unavailable, Interrupted:
		return true
	case Denied, Expired, BadCredentials, LimitReached, Rejected:
		return false
	default:
		return false
	}
}

// Explain converts an SDK error to a Failure. It returns nil for nil, and a Failure unchanged.
func Explain(err error) *Failure {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*Failure](err); ok {
		return known
	}
	for _, explain := range []func(error) *Failure{explainInterruption, explainAnswer, explainSilence} {
		if failure := explain(err); failure != nil {
			failure.Reason = string(failure.Kind)
			failure.cause = err
			return failure
		}
	}
	return &Failure{
		Kind: Unavailable, Reason: string(Unavailable), cause: err,
		Message: fmt.Sprintf("The call %s failed for an unknown reason; it may succeed later.", calledAction(err)),
	}
}

// Known explains errors of AWS calls, as [Explain] does, and returns other errors, such as the
// project's own, unchanged.
func Known(err error) error {
	if failure := Explain(err); failure != nil && (failure.Kind != Unavailable || Code(err) != "") {
		return failure
	}
	return err
}

// Code returns AWS's error code of a failed call, or "".
func Code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// AWSMessage returns AWS's message of a failed call, or "".
func AWSMessage(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorMessage()
	}
	return ""
}

func explainInterruption(err error) *Failure {
	if !errors.Is(err, context.Canceled) {
		return nil
	}
	return &Failure{Kind: Interrupted, Message: "The call was interrupted because this program is stopping."}
}

// codeKinds classifies AWS's error codes, which are listed in
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/CommonErrors.html and the
// services' own pages. The throttling codes are the SDK's list.
var codeKinds = map[string]Kind{
	"AccessDenied": Denied, "AccessDeniedException": Denied, "UnauthorizedOperation": Denied, "NotAuthorized": Denied,
	"AuthorizationError": Denied, "AuthorizationErrorException": Denied, "OptInRequired": Denied,

	"ExpiredToken": Expired, "ExpiredTokenException": Expired, "RequestExpired": Expired, "TokenRefreshRequired": Expired,

	"InvalidClientTokenId": BadCredentials, "UnrecognizedClientException": BadCredentials, "SignatureDoesNotMatch": BadCredentials,
	"InvalidAccessKeyId": BadCredentials, "AuthFailure": BadCredentials, "IncompleteSignature": BadCredentials,
	"MissingAuthenticationToken": BadCredentials, "MissingAuthenticationTokenException": BadCredentials,
	"InvalidSignatureException": BadCredentials,

	"LimitExceeded": LimitReached, "LimitExceededException": LimitReached, "ServiceQuotaExceededException": LimitReached,

	"InternalFailure": Unavailable, "InternalError": Unavailable, "ServiceUnavailable": Unavailable, "InternalServerError": Unavailable,
}

func explainAnswer(err error) *Failure {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return nil
	}
	code := api.ErrorCode()
	kind, ok := codeKinds[code]
	switch _, throttled := retry.DefaultThrottleErrorCodes[code]; {
	case throttled && code != "LimitExceededException":
		kind = Throttled
	case !ok && statusOf(err) >= http.StatusInternalServerError:
		kind = Unavailable
	case !ok:
		kind = Rejected
	}
	failure := &Failure{Kind: kind, Code: code}
	failure.Message = answerSentence(failure, err, api)
	return failure
}

func answerSentence(f *Failure, err error, api smithy.APIError) string {
	switch f.Kind {
	case Denied:
		return deniedSentence(f, err, api.ErrorMessage())
	case Throttled:
		return fmt.Sprintf("AWS throttles %s calls; they succeed again at a lower rate.", calledAction(err))
	case Expired:
		return "The AWS credentials have expired; renew them. If they were just renewed, check the machine's clock."
	case BadCredentials:
		return fmt.Sprintf("AWS rejects the credentials (%s); check the access key, its secret and the session token.", f.Code)
	case LimitReached:
		return fmt.Sprintf(
			"A quota of the AWS account is exhausted: %s Request a higher quota or delete unused resources.", Sentence(api.ErrorMessage()),
		)
	case Unavailable:
		return fmt.Sprintf("AWS returned an internal error for %s (%s); such errors are usually temporary.", calledAction(err), f.Code)
	case Rejected, Unreachable, Interrupted:
		return fmt.Sprintf("AWS rejects %s: %s", calledAction(err), Sentence(api.ErrorMessage()))
	default:
		return Sentence(api.ErrorMessage())
	}
}

// deniedPattern matches AWS's message for a missing permission:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
var deniedPattern = regexp.MustCompile(`(?:User: (\S+) )?is not authorized to perform: ([\w-]+:\w+)(?: on resource: (\S+))?`)

// MissingAction extracts the principal, the denied action and the resource from AWS's message;
// action is "" if the message does not contain it.
func MissingAction(message string) (principal, action, resource string) {
	match := deniedPattern.FindStringSubmatch(message)
	if match == nil {
		return "", "", ""
	}
	return match[1], match[2], strings.TrimRight(match[3], `".,;)`)
}

// DeniedSentence says who lacks which permission, from the results of MissingAction.
func DeniedSentence(principal, action, resource, message string) string {
	if principal == "" {
		principal = "the identity of these credentials"
	}
	sentence := fmt.Sprintf("AWS denies access: %s lacks the permission %s", principal, action)
	if resource != "" && resource != "*" {
		sentence += " on " + resource
	}
	switch {
	case strings.Contains(message, "explicit deny"):
		return sentence + "; a policy denies it explicitly, so that policy must change."
	case strings.Contains(message, "permissions boundary"):
		return sentence + "; its permissions boundary must allow it."
	case strings.Contains(message, "BlockPublicPolicy"):
		return fmt.Sprintf("AWS denies %s: the setting BlockPublicPolicy of S3 Block Public Access refuses public policies.", action)
	default:
		return sentence + "; allow this action in its IAM policy."
	}
}

func deniedSentence(f *Failure, err error, message string) string {
	principal, action, resource := MissingAction(message)
	f.Action = action
	if action != "" {
		return DeniedSentence(principal, action, resource, message)
	}
	action = calledAction(err)
	f.Action = action
	if generic := []string{"", "Access Denied", "AccessDenied", "Forbidden"}; !slices.Contains(generic, message) {
		return fmt.Sprintf("AWS denies %s: %s", action, Sentence(message))
	}
	return DeniedSentence(principal, action, resource, message)
}

func explainSilence(err error) *Failure {
	var dns *net.DNSError
	var network net.Error
	var request *url.Error
	switch text := err.Error(); {
	case strings.Contains(text, "get credentials") || strings.Contains(text, "failed to refresh cached credentials"):
		return &Failure{
			Kind:    BadCredentials,
			Message: "There are no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; an operator in a cluster needs a role (IRSA, pod identity or instance profile).",
		}
	case errors.As(err, &dns):
		return &Failure{
			Kind: Unreachable,
			Message: fmt.Sprintf(
				"AWS cannot be reached: the name %s does not resolve; check the network, DNS and the region's name.", dns.Name,
			),
		}
	case errors.Is(err, context.DeadlineExceeded):
		return &Failure{
			Kind:    Unreachable,
			Message: fmt.Sprintf("AWS did not answer %s in time; it may be busy, or the network slow.", calledAction(err)),
		}
	case errors.As(err, &request):
		return &Failure{
			Kind: Unreachable,
			Message: fmt.Sprintf(
				"AWS cannot be reached at %s: %s; check the network and the endpoint.", hostOf(request.URL), networkReason(request.Err),
			),
		}
	case errors.As(err, &network):
		return &Failure{Kind: Unreachable, Message: "AWS cannot be reached; check the network."}
	default:
		return nil
	}
}

func networkReason(err error) string {
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return "no answer in time"
	}
	for _, known := range []string{"connection refused", "connection reset", "certificate", "no route to host", "EOF"} {
		if strings.Contains(err.Error(), known) {
			if known == "EOF" {
				return "the connection was closed without an answer"
			}
			return strings.TrimSpace(known)
		}
	}
	return "the connection failed"
}

func hostOf(text string) string {
	if parsed, err := url.Parse(text); err == nil && parsed.Host != "" {
		return parsed.Host
	}
	return text
}

// calledAction returns the failed call as an IAM action: "cloudformation:CreateStack".
func calledAction(err error) string {
	var operation *smithy.OperationError
	if !errors.As(err, &operation) {
		return "of AWS"
	}
	// A call may fail because the one that gets its credentials does, such as AssumeRole.
	for inner := operation; errors.As(operation.Err, &inner); {
		operation = inner
	}
	return strings.ToLower(strings.ReplaceAll(operation.Service(), " ", "")) + ":" + operation.Operation()
}

func statusOf(err error) int {
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return response.HTTPStatusCode()
	}
	return 0
}

// Sentence appends a full stop to AWS's message. It keeps the first letter, which may begin a name.
func Sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return "AWS gives no reason."
	}
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "!") && !strings.HasSuffix(text, "?") {
		text += "."
	}
	return text
}
