package wire

import (
	"context"
	"net/http"
	"slices"
)

// Protocol is one of AWS's wire protocols.
type Protocol int

// The protocols. A service that has RESTXML brings its own [Service.HTTP]; the
// protocol then only says how errors look.
const (
	JSON10 Protocol = iota + 1
	JSON11
	Query
	EC2Query
	RESTXML
)

// Operation decodes a request, does what it asks and returns what to encode.
type Operation struct {
	input func() any
	call  func(ctx context.Context, in any) (any, error)
	empty bool // it answers with a result, empty if the output has no members
}

// Op makes an operation of a function on the SDK's input and output types.
// Errors that are not an [*Error] are sent as InternalFailure.
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

// WithEmptyResult returns the operation as one that answers in the Query
// protocol with a result element though its output has no members. AWS has such
// operations beside others that have no output; the SDK's types do not tell them
// apart, but it fails on an answer of the first that lacks the element.
// https://smithy.io/2.0/aws/protocols/aws-query-protocol.html
func (o Operation) WithEmptyResult() Operation {
	o.empty = true
	return o
}

// Name says how one member is called on the wire where the service's rule does
// not say so.
type Name struct {
	// Wire is the member's name.
	Wire string
	// Request is what a request calls it where that is another name (EC2).
	Request string
	// Flattened lists and maps are not wrapped (Query and XML only).
	Flattened bool
	// Item is the element name of a list that is not flattened, "member" (or
	// "item" for EC2) unless set.
	Item string
	// Key and Value are the names in a map's entry, "key" and "value" unless set.
	Key, Value string
}

// Service is one simulated AWS service.
type Service struct {
	// Name is the signing name: the service in a credential scope.
	Name string
	// Protocols are those it speaks.
	Protocols []Protocol
	// TargetPrefix is what X-Amz-Target begins with, for JSON: "AmazonSQS".
	TargetPrefix string
	// APIVersion is the Version parameter, for Query: "2012-11-05".
	APIVersion string
	// XMLNamespace is the namespace of Query and XML answers.
	XMLNamespace string
	// ErrorNamespace precedes "#" in the __type of JSON errors, if set.
	ErrorNamespace string
	// QueryCodes are the error codes of the Query protocol by error shape, for
	// services that have other ones there (SQS).
	QueryCodes map[string]string
	// LowerCamel says that member names begin with a lower-case letter.
	LowerCamel bool
	// Names are the exceptions to the naming rule by "GoType.GoField", or by
	// "GoField" for all types; for JSON only those without Flattened count.
	Names map[string]Name
	// QueryNames are like Names and win over them in the Query protocol, for
	// services whose two protocols differ (SQS).
	QueryNames map[string]Name
	// Operations are the operations by name.
	Operations map[string]Operation
	// WrapsErrors says that its REST-XML errors are within an ErrorResponse: those
	// of all such services but S3.
	WrapsErrors bool
	// HTTP serves requests that name no operation, for REST services such as
	// S3. The request's context carries the [Call].
	HTTP http.Handler
	// OperationOf names the operation of a request to HTTP and what it is about
	// (a bucket), for counting and for faults; the method unless set.
	OperationOf func(*http.Request) (operation, name string)
	// HTTPOperations are the operations that HTTP answers, for the list of what is supported.
	HTTPOperations []string
	// Unsigned are the Query actions that need no credentials: STS's
	// AssumeRoleWithWebIdentity, SNS's ConfirmSubscription.
	Unsigned []string
	// Anonymous reports whether the service takes a request that carries no
	// signature: a registry's /v2/, a bucket's website.
	Anonymous func(*http.Request) bool
}

// speaks reports whether the service has the protocol.
func (s *Service) speaks(p Protocol) bool {
	return slices.Contains(s.Protocols, p)
}
