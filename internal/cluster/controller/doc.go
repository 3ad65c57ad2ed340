// Package controller contains the controllers of Clusters and InstanceGroups.
//
// They create, change and delete CloudFormation stacks from the objects' specs, and report in the
// objects' statuses. They must never act on AWS resources that the stacks' tags do not prove to be
// the object's.
//
// # A Cluster's pipeline
//
//	cluster-api  report the API's address to Cluster API, if it owns the Cluster
//	account      determine the AWS account; subscribe to its events
//	network      check and tag an existing VPC
//	sweep        last step of a deletion: report resources left in AWS (see [Cleanup])
//	pki          create the CAs in Secrets
//	upgrade      decide whether the cluster may change to the Release in its spec
//	base         the base stack and its outputs. A restore of etcd's volumes deletes the slots first
//	store        upload CAs, nodeup and the issuer's documents in the bucket
//	cleanup-after-nodes
//	             deletion only: delete what the cluster's controllers created, before the network
//	slots        a bundle and a stack for each control-plane slot, in parallel when new
//	drift        check the stacks for changes outside of CloudFormation
//	kubeconfig   the Secret with the cluster's kubeconfig
//	api          connect to the Kubernetes API
//	token        the token that workers join with, renewed after half its lifetime
//	groups       deletion only: delete the Cluster's InstanceGroups
//	cleanup      deletion only: the running cluster deletes its load balancers
//	nodes        label nodes, delete Nodes of terminated instances, count nodes
//	backup       snapshots of etcd's volumes; report the slots' backups; never blocks other steps
//	certificates report when certificates expire
//	etcd-space   measure etcd's database every half an hour
//	audit-log    report whether slots ship the audit log
//	release      record the Release that the whole control plane runs
//	rotation     move a rotation of the CAs from stage to stage
//	encryption   add the encryption of resources in etcd to an existing cluster, stage by stage
//	addons       charts (see [Addons])
//	ready        wait for the control plane's nodes
//
// Deletion runs the same steps in reverse. The resource set of its Release selects a Cluster's
// pipeline.
//
// # An InstanceGroup's pipeline
//
//	cluster-api  scale as a MachinePool says, if one owns the group; report the nodes to it
//	cluster      wait until the Cluster has what nodes need
//	stack        a bundle and a stack
//	node-class   the EC2NodeClass of a group whose nodes Karpenter creates
//	roll         replace instances where CloudFormation does not
//	drift        check the stack for changes outside of CloudFormation
//	nodes        wait until the nodes have joined; replace unhealthy ones
//	drains       deletion only: end the drains of the group's nodes
//
// An InstanceGroup needs the Cluster's base stack and CAs but not its control plane: instances of
// both boot concurrently.
//
// # Where things are
//
// Each step is in a file named after it: step_NAME.go of a Cluster, group_NAME.go of an
// InstanceGroup. What steps share is in packages of their own:
//
//	targets         the account and region of a Cluster, and its role
//	models          Clusters resolved to models; existing VPCs
//	stackcache      for which inputs stacks are up to date; rendered stacks
//	apply           passing stacks to the stack engine; retries; outcomes
//	approval        changes that wait for a user's approval
//	owner, outputs  proof that resources and outputs are the object's
//	directory       which objects claim a stack, for events
//	draining        events about instances; orders to drain their nodes
//	objects         lookups in the informer cache
//	credentials     CAs, kubeconfigs, connections
//	certificates    when certificates expire
//	clusterapi      what Cluster API's objects say, and what they read
//	etcdspace       how full etcd is
//	fleets          the controller of Fleets
//	bucket          what instances download
//	boots           instances that do not become nodes in time, and why
//	bootstraptoken  the tokens that workers join with
//	signals         the success signals to CloudFormation for new instances
//	repair          unhealthy instances, and their replacements
//	instances       what EC2 reports about nodes
//	backup          snapshots of etcd's volumes
//	etcdvolumes     lost volumes, volumes to restore, and those of slots that move
//	drift           checks of stacks for changes outside of CloudFormation
//	progress        the progress of a rollout in terms of nodes
//	outcomes        what steps return for errors
//	conditions      the conditions of Clusters and InstanceGroups
//	cache           the caches that these packages use
//
// # Facts
//
// The operator learns about AWS from outputs of stacks and from events, and about a workload
// cluster from one watch of its nodes. A reconcile of an unchanged object renders nothing and makes
// no calls: the operator caches in memory for which inputs a stack is up to date and, across
// restarts, in the record that the status holds with each stack.
package controller
