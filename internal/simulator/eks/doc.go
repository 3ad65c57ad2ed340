// Package eks simulates Amazon EKS: clusters, access entries, managed node groups, add-ons and
// associations of EKS Pod Identity, with the states, the checks and the errors of AWS.
//
// The control plane of a cluster runs on the host of the machines if that implements
// [machine.ControlPlanes]. Otherwise a cluster has an endpoint at which nothing listens. A node group
// is an Auto Scaling group with a launch template, an instance profile and instances, all of which
// exist in the other simulated services. An add-on is a record: nothing runs it. EKS Auto Mode is a
// setting: it launches no nodes, and makes no load balancers and volumes.
//
// The service never waits. A change takes effect when its time has come, either when a client calls
// the service again or by a timer.
//
// https://docs.aws.amazon.com/eks/latest/APIReference/Welcome.html
package eks
