// Package drain drains nodes before their instances are terminated.
//
// [Drains] takes an [Order] for each instance to be terminated, from any source, and works on all
// of them concurrently, outside of reconciles. For each, it cordons the node, excludes it from load
// balancers, evicts its pods like
//
//	kubectl drain --ignore-daemonsets --delete-emptydir-data --force
//
// sends heartbeats to Auto Scaling, and completes the lifecycle action that holds the instance. A
// pure function of the observed state and the time chooses the next step (see decide); the other
// code carries it out. Drains must never evict pods against a PodDisruptionBudget.
//
// The start of a drain is recorded on the Node, so that an operator that takes over keeps the
// deadline.
//
// # What a drain waits for
//
//   - Pods are evicted through the eviction API, with their own grace periods and PodDisruptionBudgets.
//     An eviction that a budget forbids is retried, and the budget is reported.
//   - An empty node still passes on connections from load balancers of Services. Its instance is held
//     until they have deregistered it: for the deregistration delay in the Service's annotations, 5
//     minutes by default as in AWS, from the exclusion of the node.
//   - After the timeout, the [Policy] decides: the instance is released, or Auto Scaling keeps it outside
//     its group.
//   - The drain of an interrupted spot instance ends after two minutes in any case.
//   - Pods of a dead kubelet never terminate. A NotReady node is waited for only shortly after its pods'
//     deletion.
//   - The action of an instance without a node completes at once.
//   - Deleting an instance group drains its nodes. Deleting the whole Cluster does not, since its pods
//     have nowhere to move.
package drain
