// Package firewall decides which packets the network of a VPC carries: security groups, network
// ACLs and route tables as rules over addresses, protocols and ports.
//
// [Compile] turns a [Network], which is a copy of the simulated EC2's state, into a [Ruleset]. The
// ruleset is both loaded into the kernel, for packets of simulated machines, and evaluated here, for
// connections that the simulator makes for load balancers, so that both get the same answer. The
// package is pure: it has no clock, network or lock.
//
// It implements these rules of AWS:
//
//   - Security groups apply to each network interface, also within a subnet, and are stateful:
//     https://docs.aws.amazon.com/vpc/latest/userguide/vpc-security-groups.html
//   - A changed rule does not interrupt tracked connections, but it does interrupt untracked ones:
//     https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/security-group-connection-tracking.html
//   - Network ACLs are stateless, are evaluated in the order of their rule numbers, and apply only to
//     traffic that enters or leaves a subnet:
//     https://docs.aws.amazon.com/vpc/latest/userguide/vpc-network-acls.html
//   - The most specific route determines the target of traffic that leaves the VPC, and an internet
//     gateway carries only traffic of interfaces with a public address:
//     https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Internet_Gateway.html
//
// Traffic to instance metadata, the VPC's resolver and DHCP is not subject to security groups and
// network ACLs (see the first and third page). It never leaves a simulated machine, so no rule
// mentions it.
package firewall
