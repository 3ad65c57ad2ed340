package wire

import (
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// misbehave ends a call as a fault rule specifies.
func (r *Router) misbehave(w http.ResponseWriter, q *request, effect fault.Effect) {
	switch {
	case effect.HangUp:
		// The documented way to close a connection without an answer.
		panic(http.ErrAbortHandler)
	case effect.Deny:
		r.fail(w, q, r.denial(q))
	default:
		f := effect.Failure
		r.fail(w, q, &Error{Code: f.Code, Message: f.Message, Status: f.Status})
	}
}

// denial returns AccessDenied for the call's action, with AWS's code for it in each protocol.
func (r *Router) denial(q *request) *Error {
	return r.denialOf(q, Action(q.call.Service, q.call.Operation), "")
}

// denialOf returns the same for an action that is not named like the call, and for another reason.
func (r *Router) denialOf(q *request, action, reason string) *Error {
	e := &Error{Code: "AccessDenied", Status: http.StatusForbidden}
	if q.protocol == JSON10 || q.protocol == JSON11 {
		e.Code, e.Status = "AccessDeniedException", http.StatusBadRequest
	}
	e.Message = fault.DenialMessage(q.call.Principal, action, r.resourceARN(q), reason)
	return e
}

// Action returns the IAM action of an operation: the service's prefix, which is not always its
// signing name, and the operation.
func Action(service, operation string) string {
	prefixes := map[string]string{"monitoring": "cloudwatch", "email": "ses"}
	if p, ok := prefixes[service]; ok {
		service = p
	}
	return service + ":" + operation
}

// resourceARN guesses the ARN that a call acts on, for denials. AWS reports "*" for an action on no
// particular resource.
func (r *Router) resourceARN(q *request) string {
	name := q.name
	if name == "" && q.input != nil {
		name = nameIn(q.input)
	}
	if strings.HasPrefix(name, "arn:") {
		return name
	}
	if name == "" {
		return "*"
	}
	c := q.call
	prefix := "arn:" + r.partition + ":" + c.Service + ":" + c.Region + ":" + c.Account + ":"
	switch c.Service {
	case "sqs", "sns":
		return prefix + name
	case "dynamodb":
		return prefix + "table/" + name
	case "ecr":
		return prefix + "repository/" + name
	case "cloudformation":
		return prefix + "stack/" + name + "/*"
	case "ssm":
		return prefix + "parameter/" + strings.TrimPrefix(name, "/")
	case "kms":
		return prefix + "key/" + name
	case "events":
		return prefix + "rule/" + name
	case "s3":
		return "arn:" + r.partition + ":s3:::" + name
	case "iam":
		return "arn:" + r.partition + ":iam::" + c.Account + ":role/" + name
	default:
		return "*"
	}
}

// nameMembers are the input members that may name what a call acts on, the most specific first.
var nameMembers = []string{
	"StackName", "QueueName", "QueueUrl", "TableName", "RepositoryName", "Bucket", "TopicArn", "SubscriptionArn",
	"RoleName", "PolicyName", "InstanceProfileName", "UserName", "Rule", "Name", "KeyId", "AliasName", "ResourceARN", "ResourceArn",
}

var nameIndexes sync.Map // reflect.Type → []int

// nameIn returns the name of what an input is about: the last part of a URL or ARN, or the name in
// a stack's ARN.
func nameIn(input any) string {
	v := reflect.ValueOf(input).Elem()
	cached, ok := nameIndexes.Load(v.Type())
	if !ok {
		var indexes []int
		for _, member := range nameMembers {
			if f, has := v.Type().FieldByName(member); has && f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.String {
				indexes = append(indexes, f.Index[0])
			}
		}
		nameIndexes.Store(v.Type(), indexes)
		cached = indexes
	}
	for _, i := range cached.([]int) { //nolint:forcetypeassert // only indexes are stored
		if f := v.Field(i); !f.IsNil() && f.Elem().Len() > 0 {
			return shortName(f.Elem().String())
		}
	}
	return ""
}

func shortName(s string) string {
	if _, rest, ok := strings.Cut(s, ":stack/"); ok {
		name, _, _ := strings.Cut(rest, "/")
		return name
	}
	if strings.HasPrefix(s, "arn:") {
		s = s[strings.LastIndexByte(s, ':')+1:]
	}
	if strings.HasPrefix(s, "/") { // a parameter's path is its name
		return s
	}
	return s[strings.LastIndexByte(s, '/')+1:]
}

// afterWriter runs the hook between the effect and the first byte of the answer.
type afterWriter struct {
	http.ResponseWriter

	after func()
	once  sync.Once
}

// WriteHeader runs the hook and writes the status.
func (w *afterWriter) WriteHeader(status int) {
	w.once.Do(w.after)
	w.ResponseWriter.WriteHeader(status)
}

// Write runs the hook and writes.
func (w *afterWriter) Write(p []byte) (int, error) {
	w.once.Do(w.after)
	return w.ResponseWriter.Write(p)
}

// Unwrap returns the writer below, for [http.ResponseController].
func (w *afterWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// discardWriter discards a response that the client must not receive.
type discardWriter struct{ header http.Header }

func (w *discardWriter) Header() http.Header         { return w.header }
func (w *discardWriter) Write(p []byte) (int, error) { return len(p), nil }
func (w *discardWriter) WriteHeader(int)             {}
