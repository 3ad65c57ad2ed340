// Package state is where clusters are kept: in a folder, in an S3 bucket, or in the management
// cluster of the current kubeconfig. Commands open it by a reference (Open) and do not care which
// of them it is.
//
// In a folder and in a bucket a cluster is plain YAML that people keep in Git:
//
//	demo/cluster.yaml                  the Cluster, as it was given: its definition
//	demo/instancegroups/workers.yaml   its InstanceGroups
//	demo/status/…                      what is known of them, by the same paths; never part of the definition
//	demo/secrets/demo-ca.yaml          its Secrets, for their owner's eyes only, and kept out of Git
//	demo/lock                          who is changing the cluster
//	releases/v1.36.3-acme.1.yaml       Releases of one's own
//
// A definition is changed by Replace, or by a person with an editor; status and Secrets are changed
// by the engine (Save, Remove), under a Lock. Every file is written as a whole or not at all.
// Whatever cannot be read, or was left half written, is an error that names file, line and remedy.
package state
