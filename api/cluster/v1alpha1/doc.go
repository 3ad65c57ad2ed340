// Package v1alpha1 holds the Kubernetes API of workload clusters, group cluster-operator.aws: a
// Cluster, its InstanceGroups, the Fleets that roll changes out over many Clusters, and the Releases that say which
// versions they run.
//
// +kubebuilder:object:generate=true
// +groupName=cluster-operator.aws
package v1alpha1

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object crd:crdVersions=v1 paths=. output:crd:dir=crd
