// Package metrics runs an operator through what its dashboards show: clusters and services that are
// created, a roll, drift, an approval that is missing, a failure and throttled calls. Its only test runs
// for the tests in test/alerts, whose Prometheus scrapes the operator meanwhile.
package metrics
