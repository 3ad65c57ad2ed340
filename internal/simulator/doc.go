// Package simulator is AWS on loopback: one [http.Handler] that speaks AWS's
// protocols and holds queues, topics, tables, buckets, keys and stacks in
// memory, apart by account and region.
//
//	sim := simulator.New(simulator.Options{})
//	defer sim.Close()
//	server := httptest.NewServer(sim.Handler())
//
// Point AWS_ENDPOINT_URL at the server and use any credentials: an access key id
// of twelve digits chooses the account of that number, any other the default
// one. Signatures are not verified, but for presigned requests of STS.
//
// What the simulator does not have it refuses with AWS's error for that; it
// never makes success up. Clock, latency and faults are injected: see
// [Options] and the package fault.
package simulator
