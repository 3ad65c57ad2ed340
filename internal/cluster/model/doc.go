// Package model resolves a Cluster and its InstanceGroups: from the user's objects, the Release and
// the few facts that only AWS knows, it fills in all defaults and makes all decisions (subnets, the
// slots' zones, images, names). Templates and bundles only render the result.
//
// [Resolve] and [ResolveGroup] return either a complete model or [Problems], which name the invalid
// fields and their remedies. They are total: any spec, also one that the API server would reject,
// has one of these results.
//
// # Stability
//
// Resources outlive any single rendering, so what is derived here must not depend on anything that
// may change:
//
//   - A subnet's range depends on the VPC's range, the subnet's role and the letter of its zone, never on
//     the other zones. Adding a zone renumbers nothing.
//   - A resource is named after its zone or slot, never after its position in a list.
//   - The order of the zones determines a slot's zone. A volume never changes its zone: a slot that
//     moves has a second volume of its own name in the other zone, see moves.go.
package model
