// Package kubeapi is a Kubernetes API in memory: for clusters of simulated machines, and for the
// command line, which runs the operator on it.
//
// A real API server and etcd need half a gigabyte, too much for a thousand clusters of simulated
// machines. The operator, kubectl and client libraries need little of a workload cluster: objects
// of the built-in kinds, listed, watched and written with optimistic locking, behind TLS and the
// cluster's own CA.
//
// The server stores objects as they are: it sets hardly any defaults, and it has no validation and
// no admission. A client certificate of the cluster's CA has all permissions, a bootstrap token in
// kube-system can read. The server rejects what it does not implement: subresources other than
// status, binding, eviction and proxy of pods, kinds that are neither built in nor defined, and the
// removal of fields by server-side apply, which merges. It serves the kind of a
// CustomResourceDefinition at once, in its storage version only.
//
// It simulates the controllers, the scheduler and the kubelets, either in one step with the write
// that triggers them, or when they are due by the injected clock:
//   - Deployments, ReplicaSets, StatefulSets and DaemonSets have pods, which are replaced when they
//     end, and garbage collection deletes what they own. A new template applies to new pods only:
//     there is no rolling update.
//   - The scheduler binds a pod to a node that is Ready and not cordoned, whose taints the pod
//     tolerates, and that matches its selector and affinity: the node with the fewest pods of the
//     same controller. It ignores resources except for a node's number of pods.
//   - While their node is Ready, pods become Ready and end after the time in [Options] or in their
//     annotations, and end at the latest after their grace period.
//   - Pods of a node that is no longer Ready are not Ready. After five minutes they are deleted, and
//     they end when the node is Ready again. The deletion of a node removes its pods at once.
//   - PodDisruptionBudgets count their pods, and evictions are refused with the API server's own
//     responses. A budget's status is always up to date with its pods.
package kubeapi
