package wire

import (
	"context"
	"net/http"
	"slices"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
)

// Protocol is one of AWS's wire protocols.
type Protocol int

// The protocols. A service with RESTXML brings its own [Service.HTTP]; the protocol then only
// determines the format of errors. A service with RESTJSON has [Service.Routes].
const (
	JSON10 Protocol = iota + 1
	JSON11
	Query
	EC2Query
	RESTXML
	RESTJSON
)

// isJSON reports whether requests and responses have JSON bodies.
func (p Protocol) isJSON() bool { return p == JSON10 || p == JSON11 || p == RESTJSON }

// Operation decodes a request, executes it and returns the output to encode.
type Operation struct {
	input func() any
	call  func(ctx context.Context, in any) (any, error)
	empty bool // it responds with a result element even if the output has no members
}

// Op makes an operation from a function on the SDK's input and output types. Errors other than
// [*Error] are sent as InternalFailure.
func Op[I, O any](fn func(ctx context.Context, in *I) (*O, error)) Operation {
	return Operation{
		input: func() any { return new(I) },
		call: func(ctx context.Context, in any) (any, error) {
			typed, ok := in.(*I)
			if !ok {
				return nil, Errorf("InternalFailure", "unexpected input %T", in).WithStatus(http.StatusInternalServerError)
			}
			out, err := fn(ctx, typed)
			if err != nil {
				return nil, err
			}
			if out == nil {
				out = new(O)
			}
			return out, nil
		},
	}
}

// WithEmptyResult returns an operation that responds in the Query protocol with a result element
// although its output has no members. AWS has such operations besides others that have no output.
// The SDK's types do not distinguish the two, but the SDK fails on a response of the first kind
// without the element.
// https://smithy.io/2.0/aws/protocols/aws-query-protocol.html
func (o Operation) WithEmptyResult() Operation {
	o.empty = true
	return o
}

// Name is the wire name of a member to which the service's rule does not apply.
type Name struct {
	// Wire is the member's name.
	Wire string
	// Request is the name in requests if it differs (EC2).
	Request string
	// Flattened lists and maps have no wrapper (Query and XML only).
	Flattened bool
	// Item is the element name of a list that is not flattened. The default is "member" ("item" for
	// EC2).
	Item string
	// Key and Value are the names in a map's entry. The defaults are "key" and "value".
	Key, Value string
}

// Service is one simulated AWS service.
type Service struct {
	// Name is the signing name: the service in a credential scope.
	Name string
	// Protocols are the protocols of the service.
	Protocols []Protocol
	// TargetPrefix is the prefix of X-Amz-Target, for JSON: "AmazonSQS".
	TargetPrefix string
	// APIVersion is the Version parameter, for Query: "2012-11-05".
	APIVersion string
	// QueryJSON says that the service answers in JSON, for Query, if a client asks for it.
	QueryJSON bool
	// XMLNamespace is the namespace of Query and XML responses.
	XMLNamespace string
	// ErrorNamespace precedes "#" in the __type of JSON errors, if set.
	ErrorNamespace string
	// QueryCodes are the error codes of the Query protocol by error shape, for services whose codes
	// differ there (SQS).
	QueryCodes map[string]string
	// LowerCamel says that member names begin with a lower-case letter.
	LowerCamel bool
	// Names are the exceptions to the naming rule by "GoType.GoField", or by "GoField" for all
	// types. JSON uses only those without Flattened.
	Names map[string]Name
	// QueryNames take precedence over Names in the Query protocol, for services whose two protocols
	// differ (SQS).
	QueryNames map[string]Name
	// Operations are the operations by name.
	Operations map[string]Operation
	// Routes are the method and path of each operation, for RESTJSON: "GET /clusters/{name}". A word in
	// braces is the wire name of a member of the input. Other members are in the query or in the body.
	Routes map[string]string
	// WrapsErrors says that REST-XML errors are inside an ErrorResponse element, as for all such
	// services but S3.
	WrapsErrors bool
	// HTTP serves requests that do not name an operation, for REST services such as S3. The
	// request's context carries the [Call].
	HTTP http.Handler
	// OperationOf returns the operation of a request to HTTP and the name of what it acts on (a
	// bucket), for counting and for faults. The default operation is the method.
	OperationOf func(*http.Request) (operation, name string)
	// HTTPOperations are the operations that HTTP answers, for the list of what is supported.
	HTTPOperations []string
	// Describe returns the policy, the owner and the tags of a resource by its ARN, and its complete
	// ARN. The ARN is empty if there is no such resource.
	Describe func(arn string) access.Resource
	// DescribeAt is the same for a service whose ARNs do not all have an account.
	DescribeAt func(at Target, arn string) access.Resource
	// NameOf returns the name or the ARN of the resource that a value of a member names indirectly.
	NameOf func(at Target, member, value string) string
	// Keys returns condition keys of a request by its body.
	Keys func(operation string, body []byte) map[string][]string
	// Unsigned are the Query actions that need no credentials: STS's AssumeRoleWithWebIdentity,
	// SNS's ConfirmSubscription.
	Unsigned []string
	// Anonymous reports whether the service accepts a request without a signature: a registry's
	// /v2/, a bucket's website.
	Anonymous func(*http.Request) bool
}

// speaks reports whether the service has the protocol.
func (s *Service) speaks(p Protocol) bool {
	return slices.Contains(s.Protocols, p)
}
