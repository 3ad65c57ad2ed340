// Package awsevents turns what AWS reports into reasons to look at an object again.
//
// A [Listener] keeps, in each account and region it is given, one stack of the operator's own: an SQS queue, and EventBridge
// rules that send it CloudFormation's stack status changes and EC2's news of terminated instances. Workers long-poll the queue; every event goes to the stack engine
// and to the subscribers. Events only ever say "look": doubled, late or out of order they are harmless.
//
// What an event did not say, a [Listener.Sweep] finds: every ten minutes one paginated DescribeStacks for each account and region
// is compared with what the engine knows.
//
// The stack is named aws-operator-events, and aws-operator-events-<cluster name> where the operator's cluster name is not the
// default: two operators in one account must not take each other's events from one queue.
package awsevents
