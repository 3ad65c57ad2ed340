// Package fleet decides how the template of a Fleet reaches its Clusters.
//
// [NewTemplate] reads the fields that a Fleet sets, and [Template.Compare] compares them with a Cluster or an
// InstanceGroup: which it lacks, and which another client owns with another value. A Cluster and its InstanceGroups
// change together: see [Comparison.With]. [HealthOf] reads whether a Cluster and its
// InstanceGroups are up to date, and [Assign] in which wave it is. [Decide] turns all that, and the Fleet's last
// status, into the next status and the Clusters to change now.
//
// Decide records a Cluster in the status before it lets anyone change it, so that a process that starts after a crash
// counts the Clusters that are in change. It must never return more Clusters than the wave allows, nor one of a wave
// before those of the waves before it are updated and Ready.
package fleet
