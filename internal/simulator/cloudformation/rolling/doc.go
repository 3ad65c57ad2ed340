// Package rolling is AWS CloudFormation's rolling update of an Auto Scaling
// group: the update policy AutoScalingRollingUpdate as a state machine.
//
// [Roll.Next] is a function of what was observed of the group, the signals that
// came and the time; it returns what CloudFormation does then. It does nothing
// itself: the engine carries the actions out and asks again when something has
// changed. So it goes:
//
//  1. Obsolete are the instances that do not match what the group launches now.
//     A batch is as many of them as the policy and the room above
//     MinInstancesInService allow.
//  2. Unless the group has room for a batch already, it grows until it has, and
//     the new instances are waited for.
//  3. A batch is terminated and replaced by as many new instances as are still
//     missing. CloudFormation goes on when the old ones are out of service: it
//     does not wait until terminating lifecycle hooks let them go.
//  4. It waits until the new ones are in service and have signalled, or for the
//     pause time, and goes on with the next batch.
//  5. In the end the group has the sizes that it had.
//
// The policy is documented at
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-updatepolicy.html;
// what CloudFormation does beyond that, and in which words, was observed by
// others: batches, sizes and failures by
// https://github.com/guardian/testing-asg-rolling-update (observations), the
// sequence of events by https://crewjam.com/etcd-aws/, and that hooks are not
// waited for by https://github.com/awslabs/amazon-eks-ami/issues/66 and
// https://github.com/buildkite/elastic-ci-stack-for-aws/issues/130.
package rolling
