// Package autoscaling simulates Amazon EC2 Auto Scaling: groups that keep a
// number of instances alive, spread over zones and instance types, registered
// with target groups, held back by lifecycle hooks, and the CloudFormation types
// AWS::AutoScaling::AutoScalingGroup and AWS::AutoScaling::LifecycleHook.
//
// Each group converges on its own: whatever happens to it (a call, a change of an
// instance's state, a clock that has come) puts it into a queue, and a worker
// takes the next step towards what the group wants until nothing is left to do.
// The service never sleeps; a group that has to wait leaves a timer.
//
// Where it differs from AWS, and why:
//   - it acts within seconds, so that a laptop need not wait minutes: launches that
//     fail are retried after three seconds at first and after five minutes at most,
//     and an instance that is gone is replaced at once;
//   - there are no prices: allocation strategies take instance types in the order
//     in which the group lists them, the next one where there is no capacity;
//   - zones are not rebalanced after the fact: a group spreads when it launches and
//     when it terminates;
//   - capacity rebalancing is kept and shown, but a rebalance recommendation alone
//     replaces nothing: the interruption that follows does;
//   - a stack gives a group up after three failed launches in a row.
//
// Not supported, and refused rather than ignored: launch configurations, weighted
// capacity, attribute-based instance types, warm pools, scheduled actions,
// scaling policies, instance refreshes and maintenance policies.
//
// Behaviour: https://docs.aws.amazon.com/autoscaling/ec2/userguide/what-is-amazon-ec2-auto-scaling.html
package autoscaling
