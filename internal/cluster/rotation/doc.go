// Package rotation decides when the rotation of a cluster's CAs and keys moves from one stage to the next.
//
// [Next] gets the stage and what was observed of the cluster's nodes, and returns the stage that follows, or what the
// rotation waits for. It is pure: the controllers observe, and package pki stores the stage with the keys. It must
// never skip a stage, and never end one before every node that the stage replaces was replaced and is healthy:
// nodes of two adjacent stages accept each other, others do not.
package rotation
