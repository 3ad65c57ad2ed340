// Package sns simulates Amazon SNS: standard and FIFO topics, subscriptions with filter policies,
// delivery to simulated SQS queues in the JSON envelope or raw, and the CloudFormation types
// AWS::SNS::Topic, Subscription and TopicPolicy.
//
// Nothing leaves the host: only http and https endpoints on loopback are called, and no mail is
// sent. [Service.Token] returns the token that confirms such a subscription. Topic policies are
// stored but not enforced.
package sns
