// Package simulation runs clusters through seeded troubles in virtual time: the operator's own controllers, the simulator
// and played machines, each with all of its goroutines, in a bubble of testing/synctest in which an hour passes as soon as nobody
// has anything to do. Nothing is mocked; connections are pipes instead of sockets, and the management cluster's API is the one that
// played machines serve, with the operator's kinds.
//
// A run is made from its seed: which edits, failures, interruptions, lost and doubled events, throttled calls and kills of
// the operator come when. Between any two moments the invariants hold, and in the end the cluster is what was asked for. A run
// that fails prints its seed; SIMULATION_SEED=n runs that one alone, SIMULATION_RUNS=n as many as wanted.
package simulation
