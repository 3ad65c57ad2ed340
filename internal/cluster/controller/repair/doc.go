// Package repair replaces instances that are unhealthy for too long: those whose node is not Ready,
// and those that never joined.
//
// Auto Scaling replaces instances that fail EC2's status checks:
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/health-checks-overview.html. This package
// replaces what those checks miss, unless so many nodes of a group are unhealthy that the cause is
// likely elsewhere, and with growing delays if replacements do not help. At most one slot of a
// control plane is replaced at a time.
package repair
