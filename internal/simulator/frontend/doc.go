// Package frontend gives simulated load balancers what clients connect to: addresses, names and
// ports. It takes connections and hands them to the load balancer. It must not depend on a kind of
// load balancer, and forwards nothing itself.
//
// A load balancer has two kinds of addresses. Inside its VPC these are, as in AWS, the addresses of
// its interfaces, or the public addresses of an internet-facing load balancer; machines reach them
// through [machine.Host.Serve]. Programs on the host reach it at an address of the loopback network.
package frontend
