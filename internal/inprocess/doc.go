// Package inprocess runs the operator's controllers in this process, for one cluster whose definition
// is in a directory or a bucket, until the cluster reaches a goal.
//
// [Run] serves a Kubernetes API from memory (package kubeapi), without a port: requests are
// function calls. It loads the cluster from the state, starts the controllers of package controller
// on it, and writes every change of the cluster, its instance groups and its Secrets to the state
// before the controllers see the change. So the state has every request to AWS, however the process
// ends, and the next run continues there. There is no other record.
//
// Run creates no queue and no rule for AWS events: it polls stacks with operations in progress, and
// instances that wait to be drained, every few seconds. It leaves nothing in AWS that is not the
// cluster's.
//
// [Follow] watches a cluster and its instance groups, in memory or in a management cluster, reports
// the progress, and ends when the goal is reached or a user must act.
package inprocess
