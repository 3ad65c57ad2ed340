// Package eventbridge simulates Amazon EventBridge: buses, rules with event
// patterns, and targets that are SQS queues, SNS topics and other buses, with
// input, input path and input transformer; and the CloudFormation types
// AWS::Events::Rule and AWS::Events::EventBus.
//
// Other simulated services emit their events with [Service.Publish]. Rules with
// a schedule are kept but never fire. Targets of other kinds are kept and get
// nothing. Queue policies are not enforced.
//
// Faults lose, double and delay deliveries: a rule on service "events",
// operation [OpDeliver], resource type "AWS::Events::Rule" and the rule's name
// with HangUp loses the event, with HangUp and AfterEffect delivers it twice, with
// Latency delivers it late.
package eventbridge
