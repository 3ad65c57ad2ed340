// Package bundle is the document that a machine boots from: everything that
// shapes a node, and nothing else.
//
// The operator writes a [Bundle] (package bootstrap makes it from a cluster),
// names it by the SHA-256 of its bytes and stores it in the cluster's bucket;
// user data carries the hash; nodeup on the machine fetches the document,
// compares the hash and does what it says. So one hash answers whether a node
// has to be replaced.
//
// What differs from machine to machine of a group is left open by
// placeholders, which nodeup fills in from the instance's metadata: see
// [Placeholders]. Secrets are never in a bundle: it names where they are.
//
// The package imports nothing but the standard library, because nodeup, which
// has to stay small, reads it.
package bundle
