package wire

import (
	"context"
	"maps"
	"net"
	"net/http"
	"strings"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
	"github.com/aws-operator/aws-operator/internal/simulator/iampolicy"
)

// decides reports whether anything limits callers.
func (r *Router) decides() bool {
	return r.control.Checks() || r.control != nil && r.control.Policies != nil
}

// authorize returns an error if the caller may not make the call. It leaves to the service what only
// the service can decide, which calls [Authorize].
func (r *Router) authorize(q *request) error {
	if !r.decides() || q.reported {
		return nil
	}
	q.call.authorize = func(action string, of *access.Resource, more map[string][]string) error {
		return r.decide(q, &access.Permission{Action: action}, of.ARN, of, more)
	}
	if !q.signed {
		return nil // the service accepts anonymous callers
	}
	service, operation := prefixOf(q.call.Service), q.call.Operation
	permissions := access.Permissions(service, operation)
	for i := range permissions {
		p := &permissions[i]
		if p.Late || p.If != "" && len(valuesIn(q.input, p.If)) == 0 {
			continue
		}
		if err := r.permit(q, p); err != nil {
			return err
		}
	}
	return nil
}

// permit decides one permission on all resources that the request names.
func (r *Router) permit(q *request, p *access.Permission) error {
	if p.Resource == nil {
		return r.decide(q, p, "*", nil, nil)
	}
	c := q.call
	var names []string
	if !p.New {
		names = r.names(q, p.Members)
	}
	switch {
	case len(names) > 0:
	case p.Optional:
		return nil
	case p.Otherwise != "":
		names = []string{p.Otherwise}
	default:
		names = []string{"*"}
	}
	for _, name := range names {
		arn := q.filled(p.Resource.ARN(r.partition, c.Region, c.Account, name))
		of := r.describe(Target{Account: c.Account, Region: c.Region}, arn)
		if err := r.decide(q, p, of.ARN, &of, nil); err != nil {
			return err
		}
	}
	return nil
}

// filled returns an ARN in which members of the input take the place of their names in braces.
func (q *request) filled(arn string) string {
	before, rest, open := strings.Cut(arn, "{")
	member, after, closed := strings.Cut(rest, "}")
	if !open || !closed {
		return arn
	}
	if values := valuesIn(q.input, member); len(values) > 0 {
		return before + values[0] + q.filled(after)
	}
	return before + "*" + q.filled(after)
}

// names returns the names of resources in a request: the values of the first member that it has.
func (r *Router) names(q *request, members []string) []string {
	for _, member := range members {
		var names []string
		switch path, asks := strings.CutPrefix(member, "@"); {
		case member == "$name":
			if q.name != "" {
				names = []string{q.name}
			}
		case asks && q.service.NameOf != nil:
			for _, value := range valuesIn(q.input, path) {
				if name := q.service.NameOf(Target{Account: q.call.Account, Region: q.call.Region}, path, value); name != "" {
					names = append(names, name)
				}
			}
		case !asks:
			names = valuesIn(q.input, member)
		}
		if len(names) > 0 {
			return names
		}
	}
	return nil
}

// describe returns what the service of a resource knows about it.
func (r *Router) describe(at Target, arn string) access.Resource {
	of := access.Resource{ARN: arn}
	if parts := strings.SplitN(arn, ":", 6); len(parts) == 6 { //nolint:mnd // the parts of an ARN
		for _, s := range r.byName[parts[2]] {
			switch {
			case s.DescribeAt != nil:
				of = s.DescribeAt(at, arn)
			case s.Describe != nil:
				of = s.Describe(arn)
			default:
				continue
			}
			if of.ARN != "" {
				break
			}
			of.ARN = arn
		}
		if of.Account == "" {
			of.Account = parts[4]
		}
	}
	return of
}

// decide decides an action on a resource.
func (r *Router) decide(q *request, p *access.Permission, arn string, of *access.Resource, more map[string][]string) error {
	c := q.call
	asked := &access.Request{AccessKey: c.AccessKeyID, Caller: c.Caller, Action: p.Action, Resource: arn, Of: of}
	if c.Caller != nil {
		asked.Principal = c.Caller.ARN
	}
	if c.Caller != nil && c.Caller.IsRoot() && (of == nil || of.Policy == nil) && r.control.Policies == nil {
		if of == nil || of.Account == "" || of.Account == c.Caller.Account {
			return nil
		}
	}
	asked.Context = r.context(q, p, more)
	reason := r.control.Denial(asked)
	if reason == "" {
		return nil
	}
	return q.denied(asked, reason)
}

// context returns the condition keys that come from the request.
func (r *Router) context(q *request, p *access.Permission, more map[string][]string) map[string][]string {
	keys := map[string][]string{
		"aws:requestedregion": {q.call.Region}, "aws:securetransport": {boolText(q.isSecure())}, "aws:useragent": {q.UserAgent()},
	}
	if host, _, err := net.SplitHostPort(q.RemoteAddr); err == nil {
		keys["aws:sourceip"] = []string{host}
	}
	service := prefixOf(q.call.Service)
	for _, key := range access.Keys(service) {
		if key.Operation == "" || key.Operation == q.call.Operation {
			q.set(keys, &key)
		}
	}
	if q.service.Keys != nil {
		maps.Copy(keys, q.service.Keys(q.call.Operation, q.readable()))
	}
	// EC2 compares the tags of a request only for what the call creates or tags.
	// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
	if service != "ec2" || p.New || strings.HasSuffix(p.Action, "Tags") || !strings.HasPrefix(q.call.Operation, "Create") {
		q.tagKeys(keys)
	}
	if p.Tags {
		keys[service+":createaction"] = []string{q.call.Operation}
	}
	if p.PassedTo != "" {
		keys["iam:passedtoservice"] = []string{p.PassedTo}
	}
	maps.Copy(keys, more)
	return keys
}

// readable returns the body of a request, which the service can read again.
func (q *request) readable() []byte {
	if q.readRaw() != nil {
		return nil
	}
	return q.raw
}

// isSecure reports whether a request counts as sent with TLS. The simulator's own address counts,
// since it cannot be reached from elsewhere; AWS's names do not.
func (q *request) isSecure() bool {
	return q.TLS != nil || q.URL.Scheme == "https" || !strings.Contains(q.Host, ".amazonaws.com")
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// denied returns the error of a call that is not allowed, in the form of its service.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html
func (q *request) denied(asked *access.Request, reason string) error {
	e := &Error{Code: "AccessDenied", Status: http.StatusForbidden}
	arn := asked.Resource
	switch {
	case q.protocol == RESTJSON:
		e.Code = "AccessDeniedException"
	case q.protocol.isJSON():
		e.Code, e.Status = "AccessDeniedException", http.StatusBadRequest
	case q.call.Service == "sns": // https://docs.aws.amazon.com/sns/latest/api/API_Publish.html#API_Publish_Errors
		e.Code = "AuthorizationError"
	case q.call.Service == "s3": // https://docs.aws.amazon.com/AmazonS3/latest/userguide/troubleshoot-403-errors.html
		arn = `"` + arn + `"`
	}
	e.Message = fault.DenialMessage(asked.Principal, asked.Action, arn, reason)
	if q.protocol == EC2Query {
		// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
		e.Code = "UnauthorizedOperation"
		e.Message = "You are not authorized to perform this operation. " + e.Message + ". Encoded authorization failure message: " +
			access.Encode(asked, reason)
	}
	return e
}

// Authorize decides an action of the call that a context carries on a resource that only its service
// knows. It returns the error to answer. Without a call, or if nothing limits callers, it returns nil.
func Authorize(ctx context.Context, action string, of access.Resource, keys map[string][]string) error {
	c := CallFrom(ctx)
	if c.authorize == nil {
		return nil
	}
	return c.authorize(action, &of, keys)
}

// Via returns the context of a call that a service makes for the caller of another call, for the
// condition keys of the service.
// https://docs.aws.amazon.com/kms/latest/developerguide/conditions-kms.html#conditions-kms-via-service
func Via(ctx context.Context, service string) map[string][]string {
	c := CallFrom(ctx)
	suffix := ".amazonaws.com"
	if strings.HasPrefix(c.Region, "cn-") {
		suffix += ".cn"
	}
	return map[string][]string{
		"kms:viaservice": {service + "." + c.Region + suffix}, access.CalledVia: {service + ".amazonaws.com"},
		"kms:calleraccount": {c.Account},
	}
}

// prefixOf returns the prefix of a service's actions, which is not always its signing name.
func prefixOf(service string) string {
	prefix, _, _ := strings.Cut(Action(service, ""), ":")
	return prefix
}

// ParsePolicy parses the policy of a resource, or returns nil for none. What cannot be parsed was
// stored before it was checked, and allows nothing.
func ParsePolicy(name, document string) *iampolicy.Policy {
	return access.ParseResource(name, document)
}
