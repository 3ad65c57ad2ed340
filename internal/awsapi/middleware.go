package awsapi

import (
	"context"
	"fmt"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// attempts returns the client option that makes each HTTP attempt take a token from the bucket, and
// counts it. It runs inside the SDK's retries, so that a retry costs a token like any other
// attempt.
func (c *Clients) attempts(service string, b *bucket) func(*middleware.Stack) error {
	attempt := middleware.FinalizeMiddlewareFunc(
		"aws-operator:attempt",
		func(
			ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
		) (middleware.FinalizeOutput, middleware.Metadata, error) {
			operation := awsmiddleware.GetOperationName(ctx)
			ctx, span := startCall(ctx, operation)
			defer span.End()
			arrived := c.options.Clock.Now()
			if err := b.take(ctx, isUrgent(operation)); err != nil {
				return middleware.FinalizeOutput{}, middleware.Metadata{}, fmt.Errorf("wait for the budget of %s: %w", service, err)
			}
			started := c.options.Clock.Now()
			c.metrics.held.WithLabelValues(service).Observe(started.Sub(arrived).Seconds())
			out, metadata, err := next.HandleFinalize(ctx, in)
			endCall(span, started.Sub(arrived), metadata, err)
			c.metrics.observe(service, operation, c.options.Clock.Since(started), span, err)
			return out, metadata, err
		},
	)
	return func(stack *middleware.Stack) error {
		return stack.Finalize.Insert(attempt, "Retry", middleware.After)
	}
}

// userAgent returns the client option that identifies the operator in CloudTrail.
func userAgent(name, version string) func(*middleware.Stack) error {
	return awsmiddleware.AddUserAgentKeyValue(name, version)
}
