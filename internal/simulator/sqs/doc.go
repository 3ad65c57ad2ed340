// Package sqs simulates Amazon SQS: standard and FIFO queues with delay, visibility timeouts, long
// polling, deduplication and dead-letter queues, over its JSON and its older Query protocol, and
// the CloudFormation types AWS::SQS::Queue and AWS::SQS::QueuePolicy.
//
// Other simulated services put messages into queues with [Service.Deliver]. Queue policies are
// stored but not enforced, and messages are not encrypted.
//
// Behavior: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/welcome.html
package sqs
