// Package simulation runs clusters through seeded failures in virtual time. The operator's own
// controllers, the simulator and fake machines run in a bubble of testing/synctest, in which an
// hour passes as soon as all goroutines are idle. Nothing is mocked; connections are pipes instead
// of sockets, and the management cluster's API is the fake machines' API server with the operator's
// kinds.
//
// The seed determines a run: when which edits, failures, interruptions, lost and duplicate events,
// throttled calls and kills of the operator happen. The invariants hold at all times, and finally
// the cluster matches its spec. A failed run prints its seed; SIMULATION_SEED=n repeats it, and
// SIMULATION_RUNS=n sets the number of runs.
//
// A second test lets one operator run for days on which services, groups, Clusters and roles come and
// go. At the end it holds no more goroutines, memory, entries of maps and queued objects than at the
// start, and calls AWS as often. CHURN_DAYS=n sets the number of days.
package simulation
