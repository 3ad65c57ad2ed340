// Package elb simulates Elastic Load Balancing's classic load balancers, as far
// as clusters make them: the cloud controller's for Services of type LoadBalancer,
// with their listeners, instances, health check, attributes, tags, and the network
// interfaces by which they keep subnets and security groups from being deleted.
//
// A classic load balancer forwards nothing: its instances are InService as long
// as they run. Policies, certificates and EC2-Classic are not there. The
// CloudFormation type AWS::ElasticLoadBalancing::LoadBalancer is simulated from
// its schema.
//
// It shares the signing name of package elbv2 and has an API version of its own.
//
// Behaviour: https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/Welcome.html
package elb
