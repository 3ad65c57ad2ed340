// Package permissions runs an operator with the policies in config/iam and nothing else, against a real kube-apiserver and the
// simulator, which denies every other call.
package permissions
