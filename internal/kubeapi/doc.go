// Package kubeapi is a Kubernetes API in memory: for clusters of simulated machines, and for the
// command line, which runs the operator on it.
//
// A real API server and etcd cost half a gigabyte; a thousand clusters of
// simulated machines have no room for that. What the operator, kubectl and client
// libraries need of a workload cluster is little: objects of the built-in
// kinds, listed, watched and written with optimistic locking, behind TLS and the
// cluster's own authority.
//
// It keeps what it is given: hardly anything is defaulted, nothing is validated
// or admitted. A client certificate of the cluster's authority has every right,
// a bootstrap token in kube-system that of reading. What it lacks it refuses:
// subresources other than status, binding, eviction and proxy of pods, kinds that
// are neither built in nor defined, and the removal of fields by server-side apply,
// which merges. A CustomResourceDefinition has its kind served at once, in its storage
// version only.
//
// What goes on in a cluster while its nodes change is simulated, as one step with
// the write that it follows from, or when its time has come by the injected clock:
//   - Deployments, ReplicaSets, StatefulSets and DaemonSets have their pods, which
//     are replaced when they end; what they own goes with them. A new template is
//     for pods made from then on: nothing rolls;
//   - pods get a node that is Ready, not cordoned, whose taints they tolerate and
//     that they ask for by selector or affinity: the one with the fewest of their
//     controller. Resources do not count, but for a node's number of pods;
//   - pods become Ready and end after [Options]' or their annotations' time, which
//     for the end is their grace period at most, as long as their node is Ready;
//   - pods of a node that stops to be Ready are not ready; after five minutes they
//     are deleted, and end when the node is back. With their node they go at once;
//   - PodDisruptionBudgets count their pods, and evictions are refused with the API
//     server's own answers. A budget's status is never behind its pods.
package kubeapi
