// Package controller makes clusters of Clusters and InstanceGroups.
//
// # A Cluster's pipeline
//
//	account      whose account it is; events of it are listened to
//	network      what AWS says of an existing VPC; our tags on it
//	sweep        at the end of a deletion: is anything left in AWS? (see [Cleanup])
//	pki          the CAs exist, in Secrets
//	base         the base stack; its outputs are the Cluster's. A restore of etcd's volumes ends the slots before
//	store        CAs, nodeup and the issuer's documents are in the bucket
//	cleanup-after-nodes
//	             of a deletion: what the cluster made in AWS by itself goes before the network does
//	slots        a bundle and a stack for each control-plane slot, all at once
//	kubeconfig   the Secret that opens the cluster
//	api          the Kubernetes API answers
//	token        the token that workers join with, renewed when half its life is over
//	groups       of a deletion: the Cluster's InstanceGroups go first
//	cleanup      of a deletion: the cluster takes down its load balancers while it runs
//	nodes        labels that kubelets may not set; Nodes of machines that are gone; how many there are
//	backup       snapshots of etcd's volumes; it holds nothing up
//	addons       charts (see [Addons])
//	ready        the control plane's nodes are ready
//
// Deletion runs the same list backwards. Which pipeline a Cluster has is decided by the resource set
// of its Release.
//
// # An InstanceGroup's pipeline
//
//	cluster      the Cluster is there and has what nodes need
//	stack        a bundle and a stack
//	nodes        the nodes have joined
//
// An InstanceGroup needs the Cluster's base stack and CAs but not its control plane: machines of both
// boot at the same time.
//
// # Facts
//
// What the operator knows of AWS comes from outputs of stacks and from events, what it knows of a
// workload cluster from one watch of its nodes. A look at an object for which nothing changed renders
// nothing and asks nobody anything: what was in place for the same inputs is remembered, in memory and,
// over restarts, in the record that the status keeps with each stack.
package controller
