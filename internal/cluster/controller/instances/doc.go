// Package instances finds out what EC2 knows about the instances of a Cluster's nodes: which
// instance group or slot they belong to, and whether they are terminated. A Node's own claims are
// unverified.
package instances
