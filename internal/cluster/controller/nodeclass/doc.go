// Package nodeclass keeps the EC2NodeClasses from which Karpenter launches the nodes of instance groups,
// in the clusters of these groups.
//
// Karpenter notices that a NodeClass changed, and replaces its nodes as the budgets of their NodePools
// allow: https://karpenter.sh/docs/concepts/disruption/#drift.
package nodeclass
