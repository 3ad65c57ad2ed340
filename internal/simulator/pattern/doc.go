// Package pattern matches JSON documents against event patterns as the rules of EventBridge and the
// filter policies of SNS do. It supports exact values, prefix, suffix, anything-but, numeric,
// exists, wildcard, equals-ignore-case, cidr and $or.
//
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html
package pattern
