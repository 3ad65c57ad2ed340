// Package bootstrap computes what a cluster's instances boot with.
//
// [ControlPlane] and [Worker] convert a resolved cluster to a [Bundle]: kubeadm's configuration,
// the kubelet's command line, artifacts by hash, files. They are pure: the same cluster results in
// the same bytes and the same hash. [UserData] returns the short shell script of an instance: it
// downloads nodeup from the cluster's bucket, verifies its hash and starts it with the bundle's.
//
// Users' extra arguments must not override what the operator controls (etcd's membership, the
// location of keys, trust); such arguments are rejected by name.
package bootstrap
