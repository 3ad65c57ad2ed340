// Package vpc is the network part of EC2: VPCs and subnets, route tables and
// gateways, addresses, security groups, network interfaces, endpoints, and the
// tags of everything that EC2 has.
//
// It has no wire service of its own: EC2 is one API, and package ec2 merges
// [Service.Operations] with its own. What the two share goes through
// [Service]'s Go API: [Service.NewInterface] for the interfaces of instances and
// load balancers, [Service.Tags] for the tags of any id, [Fields] for the
// filters of Describe operations and [Page] for their pages.
//
// What depends on what is enforced as AWS does it: a VPC with subnets, gateways
// or groups, a subnet with interfaces, a group in use or referred to, a gateway
// with mapped addresses refuse to go with DependencyViolation.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
//
// Where it differs from AWS: an account begins without a default VPC, so that
// nothing exists that nobody made, and without VPC peering, transit gateways, VPN
// and IPAM. Packets are not filtered: groups, routes and access lists are kept
// and checked but let everything through. Public addresses are of
// 198.18.0.0/15, which is set aside for benchmarks and belongs to nobody.
package vpc
