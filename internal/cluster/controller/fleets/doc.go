// Package fleets contains the controller of Fleets.
//
// It reads the Clusters of a Fleet with their InstanceGroups, has package fleet decide which to change now, and applies
// the Fleet's fields to those by server-side apply, with a field manager of the Fleet's own. It takes a field from
// another field manager only if an annotation of the Cluster names that field, and applies only to Clusters that the
// Fleet's written status names, or that have no release.
//
// A Fleet belongs to one shard, its Clusters to all. So the controller has a cache of its own with the Clusters and
// InstanceGroups of all shards, without most of their statuses. The cache starts with the first Fleet.
package fleets
