// Package vpc simulates the network part of EC2: VPCs and subnets, route tables and gateways,
// addresses, security groups, network interfaces, endpoints, and the tags of all EC2 resources.
//
// It has no wire service of its own: EC2 is one API, and package ec2 merges [Service.Operations]
// with its own operations. The two share [Service]'s Go API: [Service.NewInterface] for the
// interfaces of instances and load balancers, [Service.Tags] for the tags of any ID, [Fields] for
// the filters of Describe operations and [Page] for their pages.
//
// The simulation enforces dependencies as AWS does: the deletion of a VPC with subnets, gateways or
// groups, of a subnet with interfaces, of a group that is in use or referenced, and of a gateway
// with mapped addresses fails with DependencyViolation.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
//
// It differs from AWS as follows. An account has no default VPC unless [WithDefaultVPC] is set, so
// that only resources exist that a client created. There is no VPC peering, transit gateway, VPN or
// IPAM. This package stores and validates groups, routes and network ACLs; hosts of instances that run
// as processes filter packets by them. Public addresses are from 198.18.0.0/15, a range that is
// reserved for benchmarks.
package vpc
