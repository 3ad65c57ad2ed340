// Package autoscaling simulates Amazon EC2 Auto Scaling: groups that keep a number of instances
// running, spread over zones and instance types, with target groups, lifecycle hooks, scheduled
// actions and instance refreshes. It also provides the CloudFormation types
// AWS::AutoScaling::AutoScalingGroup, LifecycleHook and ScheduledAction.
//
// Every event that affects a group (a call, a change of an instance's state, a timer) adds the
// group to a queue. A worker takes the next step towards the group's desired state until nothing is
// left to do. The service never sleeps; a group that has to wait sets a timer.
//
// An instance is terminated in these steps: it is deregistered from the target groups and its
// connections are drained, then terminating hooks hold it, then EC2 terminates it. It does not
// count towards the group's capacity from the first step on, so the group launches a replacement at
// once. An abandoned hook also releases the instance, unless the group's instance lifecycle policy
// retains it. Hooks do not hold an instance that EC2 has terminated.
//
// It differs from AWS as follows:
//   - It acts within seconds, so that tests need not wait minutes. Failed launches are retried
//     after three seconds, later after up to five minutes; a terminated instance is replaced at
//     once; and zones are balanced as soon as a group is steady.
//   - There are no prices: allocation strategies take instance types in the order in which the
//     group lists them, and the next one if there is no capacity.
//   - A refresh does not fail: it continues until its instances are replaced, or the user cancels
//     it or rolls it back.
//   - A stack stops waiting for a group after three consecutive failed launches.
//
// The simulator rejects, rather than ignores, what it does not support: launch configurations,
// weighted capacity, attribute-based instance types, warm pools, scaling policies, maintenance
// policies, deletion protection, notification targets of hooks; and, in instance refreshes,
// checkpoints, alarms, bake times, automatic rollbacks and the replacement of root volumes.
//
// Behavior:
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/what-is-amazon-ec2-auto-scaling.html
package autoscaling
