// Package bucketbackups reports whether the slots of a cluster put backups of etcd into its bucket,
// from what is in the bucket. It relies on nothing that a slot says.
package bucketbackups
