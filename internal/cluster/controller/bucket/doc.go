// Package bucket stores in a Cluster's bucket what its instances download.
//
// A bucket belongs to the certificate authority (CA) whose certificate it contains: it is never
// overwritten with another's.
package bucket
