// Package fake simulates machines: it simulates what a cluster sees of a node, without a process, a
// namespace or a kubelet, so that a thousand clusters fit on a laptop with any operating system.
//
// As far as AWS can observe, a fake machine behaves like a real one. It reads the user data that
// EC2 hands it, requests its role's credentials from the metadata service, fetches the bundle from
// the cluster's bucket and compares its hash.
//
//   - A slot attaches its etcd volume, publishes its name and fetches the CAs. If the cluster encrypts
//     resources in etcd, it encrypts and decrypts with the key once. It then serves a
//     [kubeapi.Server] that all slots of a cluster share, with a certificate of the cluster's own
//     CA, as long as a majority of the slots is up.
//   - A worker reads its token and waits until the API knows the token; without an operator, slots
//     maintain it. It does not prove its identity, because no kubelet requests a certificate.
//
// Both become Nodes with the bundle's labels and taints, and are Ready at once. When a machine
// ends, its Node is deleted, as a cloud controller would do.
//
// Slots show their control plane as mirror pods, and the API server's proxy reaches each slot's
// /readyz. Without a majority of slots the API does not answer; connections through a slot end with
// the slot.
//
// A host also serves the APIs of EKS clusters, at ports of the loopback interface. An instance whose user
// data is a NodeConfig of EKS's AMIs calls such an API with a token of its role and registers its Node.
//
// Package kubeapi simulates pods. Tests make machines fail through [Host.SetImage],
// [Host.SetKubelet] and [Host.SetMember].
//
// The console of a fake machine has lines like those of nodeup for failed attempts and for success.
//
// A fake machine does not run nodeup, kubeadm or user data. It never loses the data of a single
// member, and a volume that is restored from a snapshot does not restore older data.
package fake
