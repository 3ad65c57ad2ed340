// Package credentials manages the credentials of workload clusters: the CAs in Secrets, the
// kubeconfig for users in a Secret, and the operator's own connection, whose credentials exist only
// in memory.
package credentials
