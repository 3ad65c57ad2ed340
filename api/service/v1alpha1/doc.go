// Package v1alpha1 holds the Kubernetes API of AWS services as custom resources, group
// service-operator.aws.
//
// A ModelDefinition names a kind and says how it becomes a CloudFormation stack. The objects of
// every modelled kind (DynamoDB, SQSQueue, and those that users define at run time) share one Go
// type, [Object]: what differs between kinds is in the raw spec and is checked by the kind's
// CustomResourceDefinition. One compact type keeps ten thousand idle objects small in memory, and
// lets a kind come into being without a line of Go.
//
// Because many kinds share one Go type, a runtime.Scheme can hold only one of them at a time: see
// [AddObjectToScheme].
//
// +kubebuilder:object:generate=true
// +groupName=service-operator.aws
package v1alpha1

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object crd:crdVersions=v1 paths=. output:crd:dir=crd
//go:generate rm crd/service-operator.aws_objects.yaml
