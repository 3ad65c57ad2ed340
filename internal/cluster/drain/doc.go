// Package drain empties nodes before their machines go.
//
// [Drains] takes an [Order] for each machine that is to go, from whatever made it go, and works at all of them at once, outside of
// reconciles. For each it cordons the node, takes it from load balancers, evicts its pods as
//
//	kubectl drain --ignore-daemonsets --delete-emptydir-data --force
//
// does, tells Auto Scaling that it needs time, and completes the lifecycle action that holds the machine. What to do next is decided
// by a pure function of what was observed and the time (see decide); the rest is its effects.
//
// When draining began is written on the Node, so that an operator that takes over keeps to the same deadline.
//
// # What is waited for
//
//   - Pods go by the eviction API, with the grace periods and the PodDisruptionBudgets that their owners gave them. An eviction that a
//     budget forbids is tried again, and the budget is named.
//   - After the timeout the [Policy] decides: the machine goes, or is kept by Auto Scaling outside of its group.
//   - A spot interruption ends after two minutes however it fares.
//   - Pods of a kubelet that is dead never end. A node that is not ready is waited for only as long as its pods' deletion is fresh.
//   - A machine without a node has nothing to move: its action is completed at once.
//   - Deleting an instance group drains its nodes; deleting the whole Cluster does not, since its pods have nowhere to go.
package drain
