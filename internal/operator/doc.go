// Package operator puts the operator together: AWS clients, the stack engine,
// the listener for AWS's events and the controllers, under one manager with
// leader election, metrics and health checks.
//
// The command line, local mode and the benchmarks all run this one.
package operator
