// Package kubeapi is a Kubernetes API in memory, for clusters of played machines.
//
// A real API server and etcd cost half a gigabyte; a thousand clusters of
// played machines have no room for that. What the operator, kubectl and client
// libraries need of a workload cluster is little: objects of the built-in
// kinds, listed, watched and written with optimistic locking, behind TLS and the
// cluster's own authority.
//
// It keeps what it is given: nothing is defaulted, validated or admitted, and
// no controller runs behind it. A client certificate of the cluster's authority
// has every right, a bootstrap token in kube-system that of reading. What it
// lacks it refuses: subresources other than status and binding (evictions among them),
// kinds that are not built in, and the removal of fields by server-side apply,
// which merges.
package kubeapi
