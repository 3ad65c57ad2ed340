// Package cleanup deletes AWS resources that a workload cluster's controllers created: load
// balancers of Services, their security groups and target groups, network interfaces, volumes of
// claims, records in its private zone, and Karpenter's instances and launch templates. None of them is
// in a stack, and most of them block the deletion of the stacks.
//
// A cluster's resources have the tag kubernetes.io/cluster/NAME = owned, which the cloud controller,
// the CSI driver and Karpenter set, or elbv2.k8s.aws/cluster = NAME, which the load balancer controller
// sets.
// A resource of a stack also has the tag aws:cloudformation:stack-id, and the stack deletes it.
// Resources without such a tag must never be touched. A cluster that never had a base stack created
// nothing, and nothing is deleted in its name: the resources may belong to a cluster in another
// namespace that has the name in AWS.
//
// It runs at three points of a deletion (see controller.Cleanup): while the cluster runs, its own
// controllers delete their resources; when its instances are terminated, the rest is deleted; and
// when the stacks are deleted, a last check reports leftovers. Volumes of claims are kept, with
// their tags, unless the Cluster's volumePolicy is Delete. The snapshots that CloudFormation takes
// of etcd's volumes are deleted with the cluster, unless the annotation [KeepSnapshotsAnnotation]
// keeps them.
package cleanup
