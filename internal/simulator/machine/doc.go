// Package machine is the contract between the simulated EC2 and what runs its instances.
//
// A [Host] boots a machine for each instance from the user data that EC2 would hand it. The
// simulator has no host of its own except [Absent], which runs nothing; packages outside the
// simulator implement it.
package machine
