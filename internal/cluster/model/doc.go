// Package model resolves a Cluster and its InstanceGroups: it takes what a
// person wrote, the release and the few facts that only AWS knows, fills every
// default and makes every decision (which subnets, which slot in which zone,
// which image, what everything is called), so that templates and bundles only
// write down what is decided.
//
// [Resolve] and [ResolveGroup] answer either a whole model or [Problems] that
// say which field is wrong and what to do about it. They are total: any spec,
// also one that the API server would have refused, gives one or the other.
//
// # What holds for all time
//
// Resources outlive any one rendering, so what is derived here depends on
// nothing that may change under them:
//
//   - A subnet's range depends on the VPC's range, the subnet's role and the
//     letter of its zone, never on which other zones there are. A zone added
//     later renumbers nothing.
//   - A resource is called by its zone or slot, never by its place in a list.
//   - A slot's zone is fixed by the order of the zones; the API refuses a
//     change that would move a slot, since its etcd volume cannot move.
package model
