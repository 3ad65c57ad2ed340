// Command bench measures the operator as users experience it: a real kube-apiserver, the simulator
// over its wire protocol and the operator as its own process, all on this machine. It prints a
// table with the goal and a competitor's number for each measurement; docs/reference/performance.md
// contains the last results.
//
//	go run ./test/bench                # everything, about a quarter of an hour
//	go run ./test/bench -only create   # one measurement
package main
