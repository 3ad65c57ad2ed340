// Package objectmetrics reports the state of Kubernetes objects to Prometheus: how many there are, by
// kind, namespace and condition, since when objects are not Ready, which drifted, the changes that wait
// for approval and the stack operations that run, and the nodes, rollouts, backups and certificates of
// clusters.
//
// A [Collector] computes the metrics from informers' caches when Prometheus scrapes. It never calls the
// API server. Only Clusters have time series of their own, and InstanceGroups during a rollout.
package objectmetrics
