// Package drift checks whether the resources of clusters' stacks were changed outside of CloudFormation,
// and shows what differs in the statuses of Clusters and InstanceGroups.
package drift
