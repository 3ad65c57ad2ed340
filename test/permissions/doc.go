// Package permissions runs an operator with exactly the policies in config/iam, against a real
// kube-apiserver and the simulator, which denies every other call.
package permissions
