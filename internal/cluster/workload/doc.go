// Package workload keeps the operator in touch with the clusters it runs.
//
// [Clusters] holds one [Cluster] for each workload cluster: one connection to its API, dialed at the
// load balancer's address and verified by the cluster's own CA, and one watch of its nodes. From the
// watch follows everything that the operator wants to know without asking: whether the API answers,
// which nodes there are, whether they are ready and which bundle they booted from.
//
// A cluster costs one goroutine, one connection and a few hundred bytes a node: of a Node only what
// [Node] has is kept. A kubelet's heartbeats change none of that, so nobody is woken by them.
package workload
