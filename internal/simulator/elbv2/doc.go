// Package elbv2 simulates network load balancers of Elastic Load Balancing (and application load
// balancers as far as needed to describe and delete them), with their target groups, listeners and
// health checks, and the CloudFormation types AWS::ElasticLoadBalancingV2::LoadBalancer,
// ::TargetGroup and ::Listener.
//
// If there are machines, a load balancer forwards connections: clients connect to its frontend
// (package frontend), and it forwards every connection to a healthy target through
// [machine.Host.Dial].
//
// It differs from AWS as follows:
//   - In the simulator's resolver for the host, a load balancer's name resolves to its loopback
//     address. In VPCs it resolves as in AWS, to an address in each of its zones.
//   - Every zone's address leads to the targets of all zones, which are used in turn, and connections
//     come from the target's own address.
//   - Health checks run only if there are machines. Otherwise a registered target is healthy while
//     its instance runs.
//   - As in AWS, HTTP health checks accept statuses from 200 to 399, and do not verify
//     certificates.
//   - TLS and UDP listeners, rules and authentication are not supported.
//
// Behavior: https://docs.aws.amazon.com/elasticloadbalancing/latest/network/introduction.html
package elbv2
