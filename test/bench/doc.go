// Command bench measures the operator the way its users would feel it: a real
// kube-apiserver, the simulator over its wire protocol and the operator as a
// process of its own, all on this machine. It prints a table with the goal and
// a competitor's number beside each measurement; docs/reference/performance.md
// keeps the last ones.
//
//	go run ./test/bench                # everything, about a quarter of an hour
//	go run ./test/bench -only create   # one measurement
package main
