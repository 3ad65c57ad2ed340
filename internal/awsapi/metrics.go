package awsapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/smithy-go"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// metrics counts and times attempts.
type metrics struct {
	requests  *prometheus.CounterVec
	throttled *prometheus.CounterVec
	duration  *prometheus.HistogramVec
	held      *prometheus.HistogramVec
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "aws_operator_api_requests_total",
			Help: "HTTP attempts of AWS calls, by service, operation and AWS's error code (\"200\" for success).",
		}, []string{"service", "operation", "code"}),
		throttled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "aws_operator_api_throttled_total",
			Help: "HTTP attempts of AWS calls that AWS refused because of their rate.",
		}, []string{"service", "operation"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "aws_operator_api_request_duration_seconds",
			Help:    "Duration of HTTP attempts of AWS calls.",
			Buckets: []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25},
		}, []string{"service", "operation"}),
		held: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "aws_operator_api_budget_wait_seconds",
			Help:    "Time for which attempts waited for the call budget of their account, region and service.",
			Buckets: []float64{.001, .01, .1, .5, 1, 5, 15, 60, 300},
		}, []string{"service"}),
	}
	if registerer == nil {
		return m, nil
	}
	for _, collector := range []prometheus.Collector{m.requests, m.throttled, m.duration, m.held} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register the metrics of AWS calls: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) observe(service, operation string, took time.Duration, span trace.Span, err error) {
	m.requests.WithLabelValues(service, operation, metricCode(err)).Inc()
	observe(m.duration.WithLabelValues(service, operation), took, span)
	if failure := Explain(err); failure != nil && failure.Kind == Throttled {
		m.throttled.WithLabelValues(service, operation).Inc()
	}
}

// observe observes a duration, with the trace of a span as its exemplar if the trace is exported.
// https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/#exemplars
func observe(histogram prometheus.Observer, took time.Duration, span trace.Span) {
	of, ok := histogram.(prometheus.ExemplarObserver)
	if at := span.SpanContext(); ok && at.IsSampled() {
		of.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": at.TraceID().String()})
		return
	}
	histogram.Observe(took.Seconds())
}

func metricCode(err error) string {
	var api smithy.APIError
	switch {
	case err == nil:
		return "200"
	case errors.As(err, &api):
		return api.ErrorCode()
	case errors.Is(err, context.Canceled):
		return "canceled"
	default:
		return "network"
	}
}
