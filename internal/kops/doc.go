// Package kops translates manifests of kops (Cluster and InstanceGroup of kops/v1alpha2 and
// kops.k8s.io/v1alpha2, and SSHCredential) to Clusters and InstanceGroups of ours. It is pure: what
// it needs to know of the world is in its options.
//
// Each field of a manifest is one of three:
//
//   - translated;
//   - noted: it has no counterpart here, and the note says so, why, and what to do;
//   - an error: dropping it could open what was closed, lose data, or change where traffic goes or what machines may do.
//
// A field that kops does not have either is an error with the name that was probably meant.
//
// The translated cluster is a new one: nothing of a running cluster of kops is taken over, and what
// etcd holds is not moved. The fields, their meaning and their defaults are those of kops'
// documentation and API (https://kops.sigs.k8s.io/cluster_spec/,
// https://github.com/kubernetes/kops/tree/master/pkg/apis/kops/v1alpha2).
package kops
