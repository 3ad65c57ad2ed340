// Package sns simulates Amazon SNS: standard and FIFO topics, subscriptions with
// filter policies, delivery to simulated SQS queues in the JSON envelope or raw,
// and the CloudFormation types AWS::SNS::Topic, Subscription and TopicPolicy.
//
// Nothing leaves the machine: of http and https endpoints only those on loopback
// are called, and mail is not sent. What would confirm such a subscription, the
// token, is returned by [Service.Token]. Topic policies are kept and not
// enforced.
package sns
