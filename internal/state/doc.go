// Package state stores clusters: in a folder, in an S3 bucket, or in the management cluster of the
// current kubeconfig. Commands open a state by its reference (Open), independently of its type.
//
// In a folder and in a bucket, a cluster consists of YAML files that users keep in Git:
//
//	demo/cluster.yaml                  the Cluster's definition, as it was given
//	demo/instancegroups/workers.yaml   the definitions of its InstanceGroups
//	demo/status/…                      their status, by the same paths; never part of the definition
//	demo/secrets/demo-ca.yaml          its Secrets, readable by their owner only, and kept out of Git
//	demo/lock                          the client that is changing the cluster
//	releases/v1.36.3-acme.1.yaml       the user's own Releases
//
// Replace or a user with an editor changes definitions. The engine changes status and Secrets
// (Save, Remove) under a Lock. Every file is written atomically. A file that is invalid or
// incomplete is an error with the file, the line and a remedy.
package state
