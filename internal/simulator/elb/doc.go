// Package elb simulates classic load balancers of Elastic Load Balancing as far as clusters create
// them, that is, as the cloud controller creates them for Services of type LoadBalancer: with
// listeners, instances, health check, attributes, tags, and the network interfaces that block the
// deletion of their subnets and security groups.
//
// If there are machines, a load balancer forwards connections to its listeners of protocols TCP and
// HTTP, whose requests it does not change, to its instances in turn, and to another one if an
// instance does not accept. It does not check their health: they are InService while they run.
// Policies, certificates and EC2-Classic are not supported. The CloudFormation type
// AWS::ElasticLoadBalancing::LoadBalancer is simulated from its schema.
//
// The package shares the signing name of package elbv2 but has its own API version.
//
// Behavior: https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/Welcome.html
package elb
