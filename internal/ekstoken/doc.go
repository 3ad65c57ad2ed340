// Package ekstoken makes the bearer tokens with which IAM principals authenticate to the Kubernetes API
// of an EKS cluster.
//
// A token is a presigned request for STS's GetCallerIdentity: EKS sends the request, and STS answers who
// has signed it. Making one calls no API, except for the credentials of a role. [Make] makes one, and
// [Source] keeps one and adds it to requests.
//
// A token is a secret: who has it can use the cluster as its principal until it expires. The package
// never logs or stores it.
package ekstoken
