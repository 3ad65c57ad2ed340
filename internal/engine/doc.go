// Package engine runs the operator's own controllers once, in this process, for one cluster whose definition is in a
// directory or a bucket, and follows a cluster until it is what was asked for.
//
// [Run] serves a Kubernetes API from memory (package kubeapi), without a port: requests are calls of functions. It loads what the
// state holds of the cluster, starts the controllers of package controller on it, and writes every change of the cluster, its
// instance groups and its Secrets to the state before the controllers learn that it was made. So what AWS was asked for is
// known however the process ends, and the next run goes on where this one ended: there is no other record.
//
// No queue and no rule for AWS's events are made: stacks that are being changed, and instances that wait to be drained, are
// looked at every few seconds. Nothing is left in AWS that is not the cluster's.
//
// [Follow] looks at a cluster and its instance groups, in memory or in a management cluster, tells what goes on, and
// ends when the goal is reached or a person must act.
package engine
