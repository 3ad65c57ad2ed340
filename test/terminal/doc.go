// Package terminal runs the real program as its own process, as users do at a terminal: with the
// management cluster as state (a real kube-apiserver with an operator) and with a bucket; killed,
// and interrupted. AWS is the simulator with fake machines.
//
//	management_test.go   --state k8s: a cluster's lifecycle with an operator
//	bucket_test.go       --state s3://…: the same without an operator; two concurrent writers; locks of exited processes
//	kill_test.go         rolling-update, killed during a roll
//	interrupt_test.go    Ctrl-C
package terminal
