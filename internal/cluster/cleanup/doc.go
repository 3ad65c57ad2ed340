// Package cleanup removes what a workload cluster made in AWS by itself: load
// balancers of its Services, their security groups and target groups, network
// interfaces, volumes of its claims, names in its private zone. None of it is in
// a stack, and most of it keeps the stacks from going.
//
// What belongs to a cluster is known by the tag kubernetes.io/cluster/NAME =
// owned, which the cloud controller and the CSI driver put on what they make, or
// elbv2.k8s.aws/cluster = NAME, which the load balancer controller does; what is
// in a stack carries aws:cloudformation:stack-id beside it and is the stack's to
// remove. Nothing without such a tag is touched. A cluster that never had a base
// stack made nothing, and nothing is removed in its name: it may be that of
// another, in another namespace, which has the name in AWS.
//
// It happens at three points of a deletion (see controller.Cleanup): while the
// cluster still runs, its own controllers are asked; when its machines are gone,
// the rest is removed; and when the stacks are gone, a last look says what is
// left. Volumes of claims stay unless the Cluster's volumePolicy says Delete, and
// lose nothing: their tags tell whose they were. The snapshots that
// CloudFormation takes of etcd's volumes go with the cluster, unless the
// annotation [KeepSnapshotsAnnotation] keeps them.
package cleanup
