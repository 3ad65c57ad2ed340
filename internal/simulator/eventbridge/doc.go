// Package eventbridge simulates Amazon EventBridge: buses, rules with event patterns, and targets
// that are SQS queues, SNS topics and other buses, with input, input path and input transformer;
// and the CloudFormation types AWS::Events::Rule and AWS::Events::EventBus.
//
// Other simulated services emit their events with [Service.Publish]. Rules with a schedule are
// stored but never fire. Targets of other kinds are stored but receive nothing. The policies of queues
// and topics decide who may deliver, and with a role of the target also the role's.
//
// Faults lose, duplicate and delay deliveries. A fault rule on service "events", operation
// [OpDeliver], resource type "AWS::Events::Rule" and the rule's name loses the event with HangUp,
// delivers it twice with HangUp and AfterEffect, and delivers it late with Latency.
package eventbridge
