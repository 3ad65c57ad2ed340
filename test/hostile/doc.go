// Package hostile runs the operator against adversaries: authors of objects with the rights of an
// editor and more, workload clusters that lie, and control planes that suffer. Each campaign is
// seeded. A failed run prints its seed; HOSTILE_SEED=n repeats it, and HOSTILE_RUNS=n sets the
// number of runs of each campaign. Control planes suffer in package simulation, in virtual time.
//
// The operator is the real one, against a real API server and the simulator of AWS. The campaigns
// judge from outside: by what exists in AWS, by the requests that AWS decides, and by what the
// objects say.
package hostile
