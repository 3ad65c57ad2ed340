// Package route53 simulates Route 53: public and private hosted zones, their record sets, and the
// resolver for machines.
//
// A change is returned as PENDING but resolves at once; GetChange returns INSYNC when the time of
// [WithPropagation] is over. Routing policies (weights, latency, failover and others), health
// checks, DNSSEC, query logs and traffic policies are not supported: a record set has one answer.
// An alias to a load balancer resolves to the addresses that [WithBalancers] returns.
package route53
