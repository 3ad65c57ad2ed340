// Package tracing exports the operator's traces by OpenTelemetry: each reconcile with its steps, and
// the calls of AWS that they make.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// flushTimeout bounds the export of the last spans.
const flushTimeout = 5 * time.Second

// endpoints are the environment variables that turn the export on.
// https://opentelemetry.io/docs/specs/otel/protocol/exporter/
var endpoints = []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"}

// Start exports traces by OTLP over HTTP if the environment names an endpoint, and does nothing
// otherwise. OpenTelemetry's other variables apply: OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER,
// OTEL_EXPORTER_OTLP_HEADERS and so on. An endpoint that does not answer costs traces and not the
// operator's work; the logger says so. The returned function exports what is left.
func Start(ctx context.Context, version string, logger logr.Logger) (stop func(), err error) {
	on := false
	for _, name := range endpoints {
		on = on || os.Getenv(name) != ""
	}
	if !on {
		return func() {}, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("export traces to what OTEL_EXPORTER_OTLP_ENDPOINT names: %w", err)
	}
	// Its own attributes come first: those of OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override them.
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "aws-operator"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv(),
	)
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))
	otel.SetTracerProvider(provider)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Info("Traces were not exported.", "error", err.Error()) }))
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			logger.Info("The last traces were not exported.", "error", err.Error())
		}
	}, nil
}
