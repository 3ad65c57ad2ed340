// Package fake plays machines: it does what a cluster sees of a node, without
// a process, a namespace or a kubelet, so that a thousand clusters fit a laptop,
// and any system will do.
//
// A played machine takes the way of a real one as far as AWS sees it. It reads
// the user data that EC2 hands it, asks the metadata service for its role's
// credentials, fetches the bundle from the cluster's bucket and compares its
// hash. A slot attaches its etcd volume, publishes its name and fetches the
// authorities, and then serves a [kubeapi.Server] that all slots of a cluster
// share, under a certificate of the cluster's own authority, as long as a
// majority of them is up. A worker reads its token and waits until the API knows
// it; where no operator does, slots keep that. It does not prove which instance it is, as no kubelet asks for a certificate. Both then are Nodes with the bundle's labels and taints, Ready at once.
// When a machine ends, its Node goes, as the cloud controller has it.
//
// Slots show their control plane as mirror pods, and each slot's /readyz can be
// asked through the API server's proxy. Without a majority of slots the API does
// not answer, and connections end with the slot that they go through.
//
// Pods are played by package kubeapi. Tests make machines misbehave through
// [Host.SetImage], [Host.SetKubelet] and [Host.SetMember].
//
// What it does not do: run nodeup, kubeadm or user data, lose the data of a single
// member, go back in time when its volumes are made of a snapshot.
package fake
