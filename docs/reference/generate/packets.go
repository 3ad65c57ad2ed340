package main

const packets = "\n" + `## Packet filtering

Machines that run as processes or containers exchange packets as their VPC allows. The rules are loaded into nftables, in a network
namespace that machines do not share, and a change of a group, rule, interface, network ACL, route or gateway replaces all of them in
one transaction. [Package firewall](../../internal/simulator/firewall) has the rules and AWS's pages for them.

| | |
| --- | --- |
| security groups | stateful, for each interface, also within a subnet. A revoked rule does not end tracked connections; it ends those that AWS does not track, because both directions are open to all addresses. |
| network ACLs | stateless, in the order of rule numbers, at the boundaries of subnets |
| source and destination check | A machine sends and receives only with the addresses of its interfaces. |
| routes | A call of an AWS API gets no response unless the machine's subnet has a route: to an internet gateway, with a public address; to a NAT gateway whose subnet has one; to a gateway endpoint of S3 or DynamoDB; or an interface endpoint with private DNS. Security groups and network ACLs apply, too. |
| network load balancers | Clients need rules of the load balancer's security groups, and targets need rules for traffic and health checks: from the load balancer's interfaces, or from clients if their addresses are preserved. |

What differs from AWS:

- Calls of AWS APIs and connections of load balancers do not leave their machine, so the simulator evaluates the rules when such a
  connection is opened. The TCP handshake succeeds, and then nothing responds. Network ACLs do not interrupt these connections later.
- A program on the host, such as kubectl or the operator, counts as having an address of every range. It reaches a load
  balancer if any range may.
- The network ACL of a NAT gateway's subnet does not filter what passes through the gateway. No machine reaches another one by
  its public address.
- Pods on machines that run containers have addresses outside of the VPC. Between machines, their packets are wrapped in VXLAN (UDP port
  8472), as with Flannel, so only the addresses of instances are seen and all packets are filtered.
- The kernel needs br_netfilter. Without it, packets are not filtered, and ` + "`local up`" + ` says so.
`
