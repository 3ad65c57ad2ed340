// Package objects reads the objects that belong together from the informer cache: a Cluster's
// Release and InstanceGroups, and an InstanceGroup's Cluster.
package objects
