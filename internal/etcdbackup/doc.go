// Package etcdbackup names and lists the backups of etcd in a cluster's bucket, and decides which
// slot makes the next one and which are deleted.
//
// Slots make the backups themselves, without an operator: see nodeup's BackUp. They do not talk to
// each other about it. Each lists the backups, and the newest one determines for all of them whose
// turn is when. The package imports only the standard library and S3's client, because nodeup
// imports it.
package etcdbackup
