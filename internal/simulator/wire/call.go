package wire

import "context"

// Call is what is known about a request besides its input.
type Call struct {
	// Account, Region and AccessKeyID follow from the request's credentials.
	Account, Region, AccessKeyID string
	// Principal is the ARN of who calls, UserID its unique id.
	Principal, UserID string
	// Service is the signing name, Operation the API operation.
	Service, Operation string
	// RequestID is the id under which the answer is sent.
	RequestID string
	// Host and Scheme are those the caller used to reach the simulator.
	Host, Scheme string
	// Path is the URL's: SQS's Query clients name the queue by it.
	Path string
}

// Endpoint is the address under which the caller reached the simulator, for
// URLs handed out.
func (c *Call) Endpoint() string { return c.Scheme + "://" + c.Host }

type callKey struct{}

// WithCall returns a context that carries the call, for a service that calls
// another one within the simulator, and for tests.
func WithCall(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// CallFrom returns the call that a context carries; without one, an empty call.
func CallFrom(ctx context.Context) *Call {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c
	}
	return &Call{}
}
