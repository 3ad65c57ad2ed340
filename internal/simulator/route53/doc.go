// Package route53 simulates Route 53: hosted zones, public and private, their
// record sets, and the resolver that machines ask.
//
// A change is answered as PENDING and can be resolved at once; GetChange says
// INSYNC when the time of [WithPropagation] is over. Routing policies (weights,
// latency, failover and the like), health checks, DNSSEC, query logs and traffic
// policies are refused: a record set has one answer. An alias to a load balancer
// leads to the addresses that [WithBalancers] finds.
package route53
