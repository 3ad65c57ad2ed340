// Package kmsprovider is a KMS v2 plugin of Kubernetes whose keys are in AWS KMS. An API server that
// encrypts resources in etcd calls it on a socket of the control plane's instance:
// https://kubernetes.io/docs/tasks/administer-cluster/kms-provider/.
//
// The API server generates a seed, from which it derives the keys of objects, and stores it next to
// each object, encrypted. Seeds go in and out, encrypted by KMS with the cluster's key and an
// encryption context that names the cluster. The package never stores a seed or a key, never logs
// one, and sees no objects.
package kmsprovider
