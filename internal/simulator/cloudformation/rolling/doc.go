// Package rolling implements AWS CloudFormation's rolling update of an Auto Scaling group: the
// update policy AutoScalingRollingUpdate as a state machine.
//
// [Roll.Next] takes the observed state of the group, the received signals and the time, and returns
// the actions that CloudFormation would take. It has no side effects: the engine executes the
// actions and calls it again when something has changed. A roll proceeds as follows:
//
//  1. Instances are obsolete if they do not match what the group launches now. The policy and the
//     room above MinInstancesInService limit the size of a batch.
//  2. If the group has no room for a batch, it grows until it has, and the roll waits for the new
//     instances.
//  3. The roll terminates a batch and replaces it with as many new instances as are still missing.
//     It continues when the old instances are out of service; it does not wait for terminating
//     lifecycle hooks.
//  4. It waits until the new instances are in service and have signalled, or for the pause time,
//     and continues with the next batch.
//  5. At the end it restores the sizes of the group.
//
// The policy is documented at
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-updatepolicy.html.
// The undocumented behavior and messages come from observations of AWS: batches, sizes and failures
// from https://github.com/guardian/testing-asg-rolling-update (observations), the sequence of
// events from https://crewjam.com/etcd-aws/, and that CloudFormation does not wait for hooks from
// https://github.com/awslabs/amazon-eks-ami/issues/66 and
// https://github.com/buildkite/elastic-ci-stack-for-aws/issues/130.
package rolling
