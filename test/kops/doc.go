// Package kops brings a manifest of kops up: a cluster as people have it today, in a network that is theirs, translated and
// made on the simulator of AWS with played machines, by the commands that they would give; and deleted so that the network is
// as it was.
package kops
