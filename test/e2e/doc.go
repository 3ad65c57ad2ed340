// Package e2e tests the operator as a process of its own between a real
// kube-apiserver and the simulator over its wire protocol. It is killed, and
// AWS refuses, at chosen moments; what counts is what exists afterwards in AWS
// and what the objects say.
//
//	kill_test.go       a queue's life, with the operator killed at every call
//	cluster_test.go    every example of a cluster; deletion at any moment; machines that die
//	processes_test.go  a cluster whose machines really boot: Linux, as root; skipped elsewhere
//	refusals_test.go   what AWS refuses, how it is told, and that it mends itself
//	restart_test.go    what a new operator leaves alone
//	secrets_test.go    where keys and tokens must not be found
//
// Machines are played (package fake) but in processes_test.go. All tests share one
// API server and keep apart by namespace; each has a simulator and an operator of
// its own. The whole takes some three minutes on two processors.
package e2e
