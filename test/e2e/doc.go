// Package e2e tests the operator as a process of its own between a real
// kube-apiserver and the simulator over its wire protocol.
package e2e
