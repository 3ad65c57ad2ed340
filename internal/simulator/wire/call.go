package wire

import (
	"context"

	"github.com/aws-operator/aws-operator/internal/simulator/access"
)

// Call is the context of a request besides its input.
type Call struct {
	// Account, Region and AccessKeyID are derived from the request's credentials.
	Account, Region, AccessKeyID string
	// Principal is the ARN of the caller; UserID is its unique ID.
	Principal, UserID string
	// Caller is the owner of the key; nil for an anonymous caller.
	Caller *Principal
	// Service is the signing name; Operation is the API operation.
	Service, Operation string
	// RequestID is the ID of the request in the response.
	RequestID string
	// Host and Scheme are those with which the caller reached the simulator.
	Host, Scheme string
	// Path is the path of the URL, by which SQS's Query clients name the queue.
	Path string

	// authorize decides an action on a resource, for [Authorize].
	authorize func(action string, of *access.Resource, keys map[string][]string) error
}

// Endpoint is the address at which the caller reached the simulator, for URLs in responses.
func (c *Call) Endpoint() string { return c.Scheme + "://" + c.Host }

type callKey struct{}

// WithCall returns a context that carries the call, for a service that calls another service of the
// simulator, and for tests.
func WithCall(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// CallFrom returns the call that a context carries, or an empty call.
func CallFrom(ctx context.Context) *Call {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c
	}
	return &Call{}
}
