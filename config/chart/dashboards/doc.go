// Package dashboards describes the Grafana dashboards of the chart, each for the questions of an on-call
// engineer: [Fleet], [Clusters] and [Operator]. [Dashboard.JSON] returns a dashboard as Grafana imports it.
//
// make generate writes them to config/chart/aws-operator/dashboards. The tests in test/alerts evaluate their
// queries with Prometheus' engine.
package dashboards
