// Package alerts tests the alerts of the chart with Prometheus' own code for rules, and the dashboards with
// its engine, on what it scraped during a run of the operator (test/metrics). It is a module of its own,
// because Prometheus has many dependencies. make test-alerts runs it.
package alerts
