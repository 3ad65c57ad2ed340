// Package simulator is AWS on loopback: one [http.Handler] that speaks AWS's protocols and keeps
// queues, topics, tables, buckets, keys and stacks in memory, separated by account and region.
//
//	sim := simulator.New(simulator.Options{})
//	defer sim.Close()
//	server := httptest.NewServer(sim.Handler())
//
// Point AWS_ENDPOINT_URL at the server. An access key ID of twelve digits is the root user of the
// account with that number; its secret is [RootSecret]. IAM and STS issue the keys of users and of
// sessions. The simulator verifies the signatures of requests, and users and roles may do what their
// policies allow: see package access and Options.IAM.
//
// For anything it does not implement, the simulator returns the error that AWS would return; it
// never pretends to succeed. Tests inject the clock, latency and faults: see [Options] and package
// fault.
package simulator
