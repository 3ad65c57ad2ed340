// Package outputs confirms that the outputs in a Cluster's status are those of its own base stack.
// They name buckets, keys, volumes, zones and roles, and any client with permission to write the
// status can change them.
package outputs
