// Package autoscaling simulates Amazon EC2 Auto Scaling: groups that keep a
// number of instances alive, spread over zones and instance types, registered
// with target groups, held back by lifecycle hooks, changed by schedules and
// instance refreshes, and the CloudFormation types
// AWS::AutoScaling::AutoScalingGroup, LifecycleHook and ScheduledAction.
//
// Each group converges on its own: whatever happens to it (a call, a change of an
// instance's state, a clock that has come) puts it into a queue, and a worker
// takes the next step towards what the group wants until nothing is left to do.
// The service never sleeps; a group that has to wait leaves a timer.
//
// How an instance goes: it is taken out of the target groups and its connections
// are drained, then terminating hooks hold it, then EC2 ends it. It counts for the
// group's capacity no more from the first of these steps on, so that a replacement
// is launched at once. A hook that is abandoned lets it go as well, unless the
// group's instance lifecycle policy retains it; nothing holds an instance that EC2
// has ended.
//
// Where it differs from AWS, and why:
//   - it acts within seconds, so that a laptop need not wait minutes: launches that
//     fail are retried after three seconds at first and after five minutes at most,
//     an instance that is gone is replaced at once, and zones are balanced as soon as
//     a group is at peace;
//   - there are no prices: allocation strategies take instance types in the order
//     in which the group lists them, the next one where there is no capacity;
//   - a refresh does not fail: it goes on until its instances are replaced, or
//     somebody cancels it or rolls it back;
//   - a stack gives a group up after three failed launches in a row.
//
// Not supported, and refused rather than ignored: launch configurations, weighted
// capacity, attribute-based instance types, warm pools, scaling policies,
// maintenance policies, deletion protection, notification targets of hooks; and of
// instance refreshes checkpoints, alarms, bake times, automatic rollbacks and the
// replacement of root volumes.
//
// Behaviour: https://docs.aws.amazon.com/autoscaling/ec2/userguide/what-is-amazon-ec2-auto-scaling.html
package autoscaling
