// Package targets determines the account and region of a Cluster's stacks, and whether the Cluster
// may use the role that it names.
package targets
