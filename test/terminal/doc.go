// Package terminal tries what people do at a terminal with the real program, as a process of its own: on the management cluster (a real
// kube-apiserver, with the operator beside it) and on a bucket as state; killed, and interrupted. AWS is the simulator, whose machines
// are played.
//
//	management_test.go  --state k8s: a cluster's life, the operator doing the work
//	bucket_test.go      --state s3://…: the same by one's own process; two who write; locks that are left behind
//	kill_test.go        rolling-update, killed amid a roll
//	interrupt_test.go   Ctrl-C
package terminal
