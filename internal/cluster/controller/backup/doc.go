// Package backup takes snapshots of the etcd volumes of control planes: at intervals, of one
// healthy slot after the other, and before a change that may require restoring one. It deletes
// those that exceed the number to keep.
package backup
