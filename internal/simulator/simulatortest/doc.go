// Package simulatortest starts the simulator of AWS for a test.
//
//	sim, endpoint := simulatortest.Start(t, simulator.Options{Region: "eu-central-1"})
package simulatortest
