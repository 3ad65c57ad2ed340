// Package elbv2 simulates Elastic Load Balancing's network load balancers (and of
// application load balancers what is needed to describe and delete them), with
// their target groups, listeners and health checks, and the CloudFormation types
// AWS::ElasticLoadBalancingV2::LoadBalancer, ::TargetGroup and ::Listener.
//
// A load balancer really forwards, if there are machines: each gets a loopback
// address of its own and listens there on the ports of its listeners, hands every
// connection to a healthy target through [machine.Host.Dial], and is reachable
// from within machines through [machine.Host.Serve].
//
// Where it differs from AWS, and why:
//   - a load balancer's name is answered with its loopback address, by the
//     resolver of every VPC and by the one that the simulator has for the host;
//   - one address serves all zones, and targets are taken in turn;
//   - health checks run only where there are machines: without, a registered
//     target is healthy as long as its instance runs;
//   - HTTP health checks count an answer of any status from 200 to 399 as AWS
//     does, and do not verify certificates, as AWS does not;
//   - TLS and UDP listeners, rules and authentication are refused.
//
// Behaviour: https://docs.aws.amazon.com/elasticloadbalancing/latest/network/introduction.html
package elbv2
