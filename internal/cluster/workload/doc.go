// Package workload connects the operator to the workload clusters.
//
// [Clusters] holds one [Cluster] per workload cluster: one connection to its API, dialed at the
// load balancer's address and verified with the cluster's own CA, and one watch of its nodes. The
// watch provides everything that the operator needs without further calls: whether the API
// responds, which nodes exist, whether they are Ready and which bundle they booted with.
//
// A cluster costs one goroutine, one connection and a few hundred bytes per node: only the fields
// of [Node] are kept. A kubelet's heartbeats change none of them and enqueue nothing. The package
// must never trust a Node's own claims about its identity: see [Identify].
package workload
