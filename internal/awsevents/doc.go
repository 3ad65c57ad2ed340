// Package awsevents receives events from AWS and passes them to the stack engine and to
// subscribers, which then reconcile the affected objects.
//
// A [Listener] manages one stack in each of its accounts and regions: an SQS queue, and EventBridge
// rules that send to it CloudFormation's stack status changes, Auto Scaling's lifecycle actions of
// the operator's hook, and EC2's events of terminated and interrupted instances. Workers long-poll
// the queue; every event is passed to the stack engine and to the subscribers. Events only trigger
// reads: duplicate, late or out-of-order ones are harmless.
//
// A [Listener.Sweep] finds what no event reported: every ten minutes it compares one paginated
// DescribeStacks of each account and region with the engine's records, and one paginated
// DescribeAutoScalingInstances finds the instances that wait until their nodes are drained. Where
// nodes are being replaced, it does so every minute.
//
// The stack is named aws-operator-events, and aws-operator-events-<cluster name> if the operator's
// cluster name is not the default: two operators in one account must not receive each other's
// events from one queue.
package awsevents
