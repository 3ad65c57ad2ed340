// Package clusterapi lets Cluster API (CAPI) drive Clusters and InstanceGroups: a Cluster is the
// infrastructure and the control plane of CAPI's Cluster, an InstanceGroup the infrastructure of a
// MachinePool, by the contract v1beta2.
// https://cluster-api.sigs.k8s.io/developer/providers/contracts/overview
//
// In go the operator's objects and what CAPI's objects say, out come the fields that the contract
// names. The package reads CAPI's objects, and never writes them. An object counts as CAPI's only if
// its owner reference has the UID of an existing object of CAPI that refers back to it, in the same
// namespace: a user who may write a Cluster may write any owner reference into it.
//
// Objects without such an owner stay as they are.
package clusterapi
