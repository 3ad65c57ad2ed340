// Package bootstrap decides what a machine of a cluster boots from.
//
// [ControlPlane] and [Worker] turn a resolved cluster into a [Bundle]: kubeadm's
// configuration, the kubelet's command line, artifacts by hash, files. They are
// pure: the same cluster gives the same bytes, and so the same hash. [UserData]
// writes the few lines of shell that an instance is handed: they fetch nodeup
// from the cluster's bucket, compare its hash and start it with the bundle's.
//
// A user's extra argument that would take a node out of the cluster's own hands
// (etcd's membership, where keys are, whom to trust) is refused by name.
package bootstrap
