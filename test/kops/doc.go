// Package kops tests the migration of a kops manifest: a typical existing cluster, in the user's
// network, is translated and created on the simulator of AWS with fake machines, by the commands
// that users run. Then it is deleted, and the network must be unchanged.
package kops
