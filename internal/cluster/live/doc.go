// Package live tells what a cluster is at this moment: what of it is in AWS, and how its own API says that it fares.
//
// [Find] looks in AWS by the tags that are on all that a cluster consists of, so that it does not matter whether CloudFormation or
// Terraform made it: there are outputs of stacks only of the one. From the Auto Scaling groups of the slots follows their target
// group, from that the load balancer, from that the address of the API.
//
// [Kubeconfig] opens the API by the authorities in the cluster's Secrets, [Ask] asks it how the nodes, the slots and the system's pods
// are, and [Check] says in sentences what is wrong with all of that. Check is pure.
//
// Nothing here changes anything.
package live
