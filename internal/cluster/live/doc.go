// Package live reads the current state of a cluster: its resources in AWS, and its health as its
// own API reports it.
//
// [Find] searches AWS by the tags that all resources of a cluster have, so it works for clusters
// that CloudFormation or Terraform created; only the former have stack outputs. The slots' Auto
// Scaling groups lead to their target group, that to the load balancer, and that to the API's
// address.
//
// [Kubeconfig] creates credentials for the API from the CAs in the cluster's Secrets, [Ask] reads
// the health of nodes, slots and system pods, and [Check], a pure function, describes the problems.
//
// This package must never change anything.
package live
