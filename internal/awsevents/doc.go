// Package awsevents turns what AWS reports into reasons to look at an object again.
//
// A [Listener] keeps, in each account and region it is given, one stack of the operator's own: an SQS queue, and EventBridge
// rules that send it CloudFormation's stack status changes, Auto Scaling's lifecycle actions of our hook, and EC2's news of instances
// that go: terminated, or spot instances that are taken back. Workers long-poll the queue; every event goes to the stack engine and
// to the subscribers. Events only ever say "look": doubled, late or out of order they are harmless.
//
// What an event did not say, a [Listener.Sweep] finds: every ten minutes one paginated DescribeStacks for each account and region
// is compared with what the engine knows, and one paginated DescribeAutoScalingInstances finds the instances that wait for their
// nodes to be drained; where nodes of ours are being replaced, each minute.
//
// The stack is named aws-operator-events, and aws-operator-events-<cluster name> where the operator's cluster name is not the
// default: two operators in one account must not take each other's events from one queue.
package awsevents
