package awsevents

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts what the listener receives and finds.
type metrics struct {
	events *prometheus.CounterVec
	sweeps *prometheus.CounterVec
	missed prometheus.Counter
	lag    prometheus.Histogram
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "aws_operator_events_total", Help: "Messages from the queue of events: received, duplicate or malformed.",
		}, []string{"result"}),
		sweeps: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "aws_operator_sweeps_total", Help: "Sweeps over all stacks of an account and region: done or failed.",
		}, []string{"result"}),
		missed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "aws_operator_sweep_differences_total", Help: "Changes of stacks that a sweep found and no event had reported.",
		}),
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "aws_operator_event_lag_seconds", Help: "Time from an event to its arrival at the operator.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2, 5, 15, 60, 300},
		}),
	}
	if registerer == nil {
		return m, nil
	}
	for _, collector := range []prometheus.Collector{m.events, m.sweeps, m.missed, m.lag} {
		if err := registerer.Register(collector); err != nil {
			return m, fmt.Errorf("register the metrics of events: %w", err)
		}
	}
	return m, nil
}
