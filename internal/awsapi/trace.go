package awsapi

import (
	"context"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// tracer makes a span for each attempt of a call; see package tracing.
var tracer = otel.Tracer("github.com/aws-operator/aws-operator/internal/awsapi")

// startCall starts the span of an attempt, which includes the wait for the budget. Its names are those of
// https://opentelemetry.io/docs/specs/semconv/cloud-providers/aws-sdk/
func startCall(ctx context.Context, operation string) (context.Context, trace.Span) {
	service := awsmiddleware.GetServiceID(ctx)
	ctx, span := tracer.Start(ctx, service+"/"+operation, trace.WithSpanKind(trace.SpanKindClient))
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("rpc.system", "aws-api"), attribute.String("rpc.service", service), attribute.String("rpc.method", operation),
			attribute.String("cloud.region", awsmiddleware.GetRegion(ctx)),
		)
	}
	return ctx, span
}

// endCall adds the result to the span of an attempt. Errors of AWS name no secrets, but its messages
// may repeat values of a request, so the span has only their codes.
func endCall(span trace.Span, held time.Duration, metadata middleware.Metadata, err error) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(attribute.Float64("aws_operator.budget.wait", held.Seconds()))
	if id, ok := awsmiddleware.GetRequestIDMetadata(metadata); ok {
		span.SetAttributes(attribute.String("aws.request_id", id))
	}
	if err != nil {
		span.SetStatus(codes.Error, metricCode(err))
	}
}
