// Package rewrite makes the API servers of a cluster store objects again, so that etcd has them as the API servers are
// configured to encrypt now.
//
// An API server writes an object that is not stored as it would store it, even if a request changes nothing of it:
// https://kubernetes.io/docs/tasks/administer-cluster/encrypt-data/#ensure-all-secrets-are-encrypted. So [Pass.Advance]
// patches each object of some resources with nothing but the UID and the resource version that it has. It reads only the
// metadata of objects, their content never reaches the operator. The package must never log or return what an object
// contains, and so no message of an API server about one.
package rewrite
