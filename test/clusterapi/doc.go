// Package clusterapi tests the operator as a provider of Cluster API: with the real controllers of
// Clusters and MachinePools, the real CRDs, and the client of clusterctl. It is a module of its own,
// because Cluster API has many dependencies. make test-cluster-api runs it.
package clusterapi
