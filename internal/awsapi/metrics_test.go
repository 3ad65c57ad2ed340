package awsapi

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// spanWith returns a span, whose trace is exported if sampled.
func spanWith(sampled trace.TraceFlags) trace.Span {
	return trace.SpanFromContext(trace.ContextWithSpanContext(context.Background(),
		trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: sampled})))
}

func TestOnlyExportedTracesAreExemplars(t *testing.T) {
	for name, c := range map[string]struct {
		span trace.Span
		want string
	}{
		"no tracing":          {trace.SpanFromContext(t.Context()), ""},
		"a trace left out":    {spanWith(0), ""},
		"a trace is exported": {spanWith(trace.FlagsSampled), "trace_id=01000000000000000000000000000000"},
	} {
		t.Run(name, func(t *testing.T) {
			histogram, registry := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "test", Buckets: []float64{1}}), prometheus.NewRegistry()
			registry.MustRegister(histogram)
			observe(histogram, time.Millisecond, c.span)
			gathered, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			written, got := gathered[0].GetMetric()[0].GetHistogram(), ""
			for _, label := range written.GetBucket()[0].GetExemplar().GetLabel() {
				got += label.GetName() + "=" + label.GetValue()
			}
			if got != c.want || written.GetSampleCount() != 1 {
				t.Errorf("the exemplar of %d calls is %q, want %q", written.GetSampleCount(), got, c.want)
			}
		})
	}
}

func TestExemplarsCostNothingWithoutTracing(t *testing.T) {
	histogram, span := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "test"}), trace.SpanFromContext(t.Context())
	if n := testing.AllocsPerRun(100, func() { observe(histogram, time.Millisecond, span) }); n != 0 {
		t.Errorf("an observation allocates %v times", n)
	}
}

func BenchmarkObservationWithoutTracing(b *testing.B) {
	histogram, span := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "test"}), trace.SpanFromContext(b.Context())
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			histogram.Observe(time.Millisecond.Seconds())
		}
	})
	b.Run("with exemplars", func(b *testing.B) {
		for b.Loop() {
			observe(histogram, time.Millisecond, span)
		}
	})
}
