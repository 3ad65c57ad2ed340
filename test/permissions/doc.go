// Package permissions runs an operator with exactly the least policies for what it does, against a
// real kube-apiserver and the simulator, which denies every other call. It also checks that the
// policies in config/iam allow what the operator did, and that each statement is needed.
package permissions
