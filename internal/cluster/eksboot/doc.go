// Package eksboot makes the user data with which instances of self-managed groups join a cluster of EKS. The model
// of a cluster and of a group goes in, with the outputs of the base stack; a document comes out that the agents of
// EKS's images read.
//
// The package is pure: it must never make calls. Labels, taints and outputs are data of the document: they must not
// add to its structure, whatever they contain.
package eksboot
