// Package bundle defines the document that an instance boots with: everything that shapes a node,
// and nothing else.
//
// The operator writes a [Bundle] (package bootstrap creates it from a cluster), names it by the
// SHA-256 of its bytes and stores it in the cluster's bucket. User data contains the hash; nodeup
// on the instance downloads the document, verifies the hash and applies it. So one hash determines
// whether a node must be replaced.
//
// Placeholders stand for what differs between the instances of a group; nodeup fills them in from
// the instance's metadata: see [Placeholders]. A bundle must never contain secrets: it contains
// their locations.
//
// The package imports only the standard library, because nodeup, which must stay small, imports it.
package bundle
