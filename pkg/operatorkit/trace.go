package operatorkit

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
)

// tracer makes the spans of reconciles and steps. Without a tracer provider of the process
// (otel.SetTracerProvider), they are not recorded.
var tracer = otel.Tracer("github.com/aws-operator/aws-operator/pkg/operatorkit")

// startReconcile starts the span of a reconcile. The names of attributes are those of
// https://opentelemetry.io/docs/specs/semconv/resource/k8s/ where it has any.
func startReconcile(ctx context.Context, kind string, key types.NamespacedName) (context.Context, trace.Span) {
	ctx, span := tracer.Start(ctx, "Reconcile "+kind)
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("k8s.object.kind", kind),
			attribute.String("k8s.namespace.name", key.Namespace), attribute.String("k8s.object.name", key.Name),
		)
	}
	return ctx, span
}

// endReconcile ends the span of a reconcile with its outcome. Spans have no texts of errors, in which
// other parties' values may be.
func endReconcile(span trace.Span, outcome string, err error) {
	if span.IsRecording() {
		span.SetAttributes(attribute.String("operatorkit.outcome", outcome))
		if err != nil {
			span.SetStatus(codes.Error, "")
		}
	}
	span.End()
}

// endStep ends the span of a step with its outcome.
func endStep(span trace.Span, outcome Outcome) {
	if span.IsRecording() {
		span.SetAttributes(attribute.String("operatorkit.outcome", outcome.Kind().String()))
		if reason := outcome.Reason(); reason != "" {
			span.SetAttributes(attribute.String("operatorkit.reason", reason))
		}
		if outcome.Kind() == KindFail {
			span.SetStatus(codes.Error, outcome.Reason())
		}
	}
	span.End()
}
