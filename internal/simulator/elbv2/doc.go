// Package elbv2 simulates network load balancers of Elastic Load Balancing (and application load
// balancers as far as needed to describe and delete them), with their target groups, listeners and
// health checks, and the CloudFormation types AWS::ElasticLoadBalancingV2::LoadBalancer,
// ::TargetGroup and ::Listener.
//
// If there are machines, a load balancer forwards connections: it has its own loopback address,
// listens there on the ports of its listeners, forwards every connection to a healthy target
// through [machine.Host.Dial], and is reachable from within machines through [machine.Host.Serve].
//
// It differs from AWS as follows:
//   - A load balancer's name resolves to its loopback address, in every VPC's resolver and in the
//     simulator's resolver for the host.
//   - One address serves all zones, and targets are used in turn.
//   - Health checks run only if there are machines. Otherwise a registered target is healthy while
//     its instance runs.
//   - As in AWS, HTTP health checks accept statuses from 200 to 399, and do not verify
//     certificates.
//   - TLS and UDP listeners, rules and authentication are not supported.
//
// Behavior: https://docs.aws.amazon.com/elasticloadbalancing/latest/network/introduction.html
package elbv2
