// Package etcdrestore makes a member of a new etcd cluster from a copy of one member's data
// directory.
//
// It is what a slot of a control plane does with a volume that was made from an EBS snapshot, see
// docs/guide/backups.md. Every slot does the same with the same data, and asks none of the others:
// since the new cluster's identity follows from the list of members and a token, and each member's
// from its name, together they are a cluster with a quorum.
//
// It is a program of its own, cmd/etcd-restore, since it has etcd's server in it: nodeup, which
// every machine fetches, would be six times as large with it.
package etcdrestore
