// Package simulator is AWS on loopback: one [http.Handler] that speaks AWS's protocols and keeps
// queues, topics, tables, buckets, keys and stacks in memory, separated by account and region.
//
//	sim := simulator.New(simulator.Options{})
//	defer sim.Close()
//	server := httptest.NewServer(sim.Handler())
//
// Point AWS_ENDPOINT_URL at the server and use any credentials: an access key ID of twelve digits
// selects the account with that number, any other selects the default account. The simulator does
// not verify signatures, except those of presigned STS requests.
//
// For anything it does not implement, the simulator returns the error that AWS would return; it
// never pretends to succeed. Tests inject the clock, latency and faults: see [Options] and package
// fault.
package simulator
