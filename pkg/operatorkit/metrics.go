package operatorkit

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// Metrics counts and times the work of reconcilers. All reconcilers of a process
// share one Metrics. A nil *Metrics measures nothing.
//
//   - <prefix>_step_duration_seconds{kind,step,outcome}: a histogram of the
//     steps that ran. The outcome is done, wait, stall or fail.
//   - <prefix>_reconcile_duration_seconds{kind,outcome}: a histogram of
//     reconciles. The outcome is one of those four, or one of the constants below.
//     The label trace_id of its exemplars is the trace of a reconcile, if exported.
//   - <prefix>_reconcile_writes_total{kind,what}: a counter of writes to the API
//     server; "what" is finalizer or status.
type Metrics struct {
	steps      *prometheus.HistogramVec
	reconciles *prometheus.HistogramVec
	writes     *prometheus.CounterVec
}

// Outcomes of reconciles in metrics, in addition to the kinds of Outcome.
const (
	// OutcomePaused means that the object is paused.
	OutcomePaused = "paused"
	// OutcomeFollowed means that another process owns the object.
	OutcomeFollowed = "followed"
	// OutcomeDeleted means that the object no longer exists, or is being deleted
	// and does not have the reconciler's finalizer.
	OutcomeDeleted = "gone"
	// OutcomeStale means that the cache did not yet contain the reconciler's last
	// write of the object.
	OutcomeStale = "behind"
	// OutcomeLimited means that a BackgroundLimiter postponed the reconcile.
	OutcomeLimited = "yielded"
	// OutcomeConflict means that another client changed the object at the same time.
	OutcomeConflict = "conflict"
)

// NewMetrics creates the metrics with the given name prefix, for example
// "aws_operator", and registers them. It returns an error if they are already
// registered.
func NewMetrics(prefix string, registerer prometheus.Registerer) (*Metrics, error) {
	buckets := []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 30}
	m := &Metrics{
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "_step_duration_seconds", Buckets: buckets,
			Help: "How long a step of a pipeline took, by its outcome.",
		}, []string{"kind", "step", "outcome"}),
		reconciles: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "_reconcile_duration_seconds", Buckets: buckets,
			Help: "How long one reconcile of an object took, by its outcome.",
		}, []string{"kind", "outcome"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "_reconcile_writes_total",
			Help: "Writes of reconciled objects to the API server.",
		}, []string{"kind", "what"}),
	}
	for _, collector := range []prometheus.Collector{m.steps, m.reconciles, m.writes} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) step(kind, step string, outcome Kind, took time.Duration) {
	if m != nil {
		m.steps.WithLabelValues(kind, step, outcome.String()).Observe(took.Seconds())
	}
}

// reconcile observes a reconcile, with its trace as the exemplar if the trace is exported.
func (m *Metrics) reconcile(kind, outcome string, took time.Duration, span trace.Span) {
	if m == nil {
		return
	}
	histogram := m.reconciles.WithLabelValues(kind, outcome)
	of, ok := histogram.(prometheus.ExemplarObserver)
	if at := span.SpanContext(); ok && at.IsSampled() {
		of.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": at.TraceID().String()})
		return
	}
	histogram.Observe(took.Seconds())
}

func (m *Metrics) wrote(kind, what string) {
	if m != nil {
		m.writes.WithLabelValues(kind, what).Inc()
	}
}
