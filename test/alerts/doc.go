// Package alerts tests the alerts of the chart with Prometheus' own code for rules. It is a module of
// its own, because Prometheus has many dependencies. make test-alerts runs it.
package alerts
