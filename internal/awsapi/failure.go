package awsapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

// Kind says what sort of failure a call met, and so what to do next.
type Kind string

const (
	// Denied means that the caller lacks a permission.
	Denied Kind = "AccessDenied"
	// Throttled means that AWS wants fewer calls a second.
	Throttled Kind = "Throttled"
	// Unreachable means that no answer came.
	Unreachable Kind = "AWSUnreachable"
	// Expired means that the credentials are past their time.
	Expired Kind = "CredentialsExpired"
	// BadCredentials means that there are no credentials or that AWS does not know them.
	BadCredentials Kind = "CredentialsInvalid"
	// Unavailable means that AWS failed inside.
	Unavailable Kind = "AWSUnavailable"
	// LimitReached means that a quota of the account is used up.
	LimitReached Kind = "LimitReached"
	// Rejected means that AWS understood the request and will not do it.
	Rejected Kind = "Rejected"
	// Interrupted means that the caller itself gave up, for example because it stops.
	Interrupted Kind = "Interrupted"
)

// Failure is a failed call, told for a person. It implements error; Unwrap gives the SDK's error.
type Failure struct {
	// Kind is what sort of failure it is.
	Kind Kind
	// Code is AWS's own error code, empty if AWS did not answer.
	Code string
	// Reason is one CamelCase word for a condition.
	Reason string
	// Message is a sentence that says what to do, without text of the SDK. It holds for the operator, which tries again by itself, as
	// for a command, whose person does: it says nothing of who does.
	Message string
	// Action is the missing permission of a denied call, such as "cloudformation:CreateStack".
	Action string

	cause error
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }

// Unwrap returns the SDK's error.
func (f *Failure) Unwrap() error { return f.cause }

// Transient is true when the same call may succeed a little later without anybody doing anything.
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

// Explain turns an error of the SDK into a Failure; it returns nil for nil, and a Failure as it is.
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
		Message: fmt.Sprintf("The call %s failed in a way that is not known; it may succeed a little later.", calledAction(err)),
	}
}

// Known returns what [Explain] does of errors that come from a call of AWS, and others, as those that the project itself makes, as they
// are.
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

// AWSMessage returns AWS's own message of a failed call, or "".
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
	return &Failure{Kind: Interrupted, Message: "The call was interrupted, since this program is being ended."}
}

// codeKinds are AWS's error codes by what they mean, as
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/CommonErrors.html and the services' own pages list them.
// Throttling codes are the SDK's list.
var codeKinds = map[string]Kind{
	"AccessDenied": Denied, "AccessDeniedException": Denied, "UnauthorizedOperation": Denied, "NotAuthorized": Denied,
	"AuthorizationError": Denied, "AuthorizationErrorException": Denied, "OptInRequired": Denied,

	"ExpiredToken": Expired, "ExpiredTokenException": Expired, "RequestExpired": Expired, "TokenRefreshRequired": Expired,

	"InvalidClientTokenId": BadCredentials, "UnrecognizedClientException": BadCredentials, "SignatureDoesNotMatch": BadCredentials,
	"InvalidAccessKeyId": BadCredentials, "AuthFailure": BadCredentials, "IncompleteSignature": BadCredentials,
	"MissingAuthenticationToken": BadCredentials, "MissingAuthenticationTokenException": BadCredentials, "InvalidSignatureException": BadCredentials,

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
		return fmt.Sprintf("AWS limits the rate of %s calls; they succeed again when fewer are made.", calledAction(err))
	case Expired:
		return "The AWS credentials have expired; renew them. If they were just renewed, check the machine's clock."
	case BadCredentials:
		return fmt.Sprintf("AWS does not accept the credentials (%s); check the access key, its secret and the session token.", f.Code)
	case LimitReached:
		return fmt.Sprintf("A quota of the AWS account is used up: %s Ask AWS for a higher one or remove what is not needed.", Sentence(api.ErrorMessage()))
	case Unavailable:
		return fmt.Sprintf("AWS failed inside while serving %s (%s); that passes as a rule.", calledAction(err), f.Code)
	case Rejected, Unreachable, Interrupted:
		return fmt.Sprintf("AWS rejects %s: %s", calledAction(err), Sentence(api.ErrorMessage()))
	default:
		return Sentence(api.ErrorMessage())
	}
}

// deniedPattern is AWS's wording of a missing permission:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
var deniedPattern = regexp.MustCompile(`(?:User: (\S+) )?is not authorized to perform: ([\w-]+:\w+)(?: on resource: (\S+))?`)

// MissingAction finds in AWS's words which action is denied to whom on what; action is "" if they do not say so.
func MissingAction(message string) (principal, action, resource string) {
	match := deniedPattern.FindStringSubmatch(message)
	if match == nil {
		return "", "", ""
	}
	return match[1], match[2], strings.TrimRight(match[3], `".,;)`)
}

// DeniedSentence says who lacks which permission, from what MissingAction found.
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
	if action == "" {
		action = calledAction(err)
	}
	f.Action = action
	return DeniedSentence(principal, action, resource, message)
}

func explainSilence(err error) *Failure {
	var dns *net.DNSError
	var network net.Error
	var request *url.Error
	switch text := err.Error(); {
	case strings.Contains(text, "get credentials") || strings.Contains(text, "failed to refresh cached credentials"):
		return &Failure{Kind: BadCredentials, Message: "There are no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; an operator in a cluster is given a role (IRSA, pod identity or instance profile)."}
	case errors.As(err, &dns):
		return &Failure{Kind: Unreachable, Message: fmt.Sprintf("AWS cannot be reached: the name %s does not resolve; check the network, DNS and the region's name.", dns.Name)}
	case errors.Is(err, context.DeadlineExceeded):
		return &Failure{Kind: Unreachable, Message: fmt.Sprintf("AWS did not answer %s in time; it may be busy, or the network slow.", calledAction(err))}
	case errors.As(err, &request):
		return &Failure{Kind: Unreachable, Message: fmt.Sprintf("AWS cannot be reached at %s: %s; check the network and the endpoint.", hostOf(request.URL), networkReason(request.Err))}
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

// calledAction names the call that failed as IAM would: "cloudformation:CreateStack".
func calledAction(err error) string {
	var operation *smithy.OperationError
	if !errors.As(err, &operation) {
		return "of AWS"
	}
	return strings.ToLower(strings.ReplaceAll(operation.Service(), " ", "")) + ":" + operation.Operation()
}

func statusOf(err error) int {
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return response.HTTPStatusCode()
	}
	return 0
}

// Sentence ends AWS's words with a full stop. It leaves their beginning alone: that may be a name.
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
