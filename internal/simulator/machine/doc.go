// Package machine is the contract between simulated EC2 and what its instances
// run on.
//
// A [Host] boots a machine for each instance from the user data that EC2 would
// hand it. Package process boots them for real, in Linux namespaces; package
// fake only plays what a cluster sees of them.
package machine
