// Package objectmetrics reports the state of Kubernetes objects to Prometheus: how many there are, by
// kind, namespace and condition, since when objects are not Ready, which drifted, and the backups of
// clusters.
//
// A [Collector] computes the metrics from informers' caches when Prometheus scrapes. It never calls the
// API server, and only Clusters have time series of their own.
package objectmetrics
