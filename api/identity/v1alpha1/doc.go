// Package v1alpha1 holds the Kubernetes API of identities in AWS, group aws-operator.aws: an
// AWSIdentity says with which role, in which account and regions, and with which limits the operator
// acts for the objects of a namespace.
//
// +kubebuilder:object:generate=true
// +groupName=aws-operator.aws
package v1alpha1

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object crd:crdVersions=v1 paths=. output:crd:dir=crd
