// Package e2e tests the operator as its own process between a real kube-apiserver and the simulator
// over its wire protocol. The tests kill the operator, or make AWS refuse calls, at chosen moments,
// and then check what exists in AWS and what the objects report.
//
//	application_test.go  the example of an application: what its pods would find and may do
//	kill_test.go         a queue's lifecycle, with the operator killed at every call
//	cluster_test.go      every example of a cluster; deletion at any moment; machines that die
//	processes_test.go    a cluster whose machines really boot: Linux, as root; skipped elsewhere
//	refusals_test.go     what AWS refuses, how it is reported, and that the object recovers
//	restart_test.go      what a new operator does not change
//	operator_upgrade_test.go  an older operator killed amid work; only by make test-operator-upgrade
//	secrets_test.go      where keys and tokens must not be
//
// Machines are fake (package fake) except in processes_test.go. All tests share one API server and
// use separate namespaces; each has its own simulator and operator. The suite takes about three
// minutes on two processors.
package e2e
