// Package machine is the contract between the simulated EC2 and what runs its instances.
//
// A [Host] boots a machine for each instance from the user data that EC2 would hand it. Package
// process boots real machines, in Linux namespaces; package fake only simulates what a cluster sees
// of them.
package machine
