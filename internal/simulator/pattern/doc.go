// Package pattern matches JSON documents against event patterns, as
// EventBridge's rules and SNS's filter policies do: exact values, prefix,
// suffix, anything-but, numeric, exists, wildcard, equals-ignore-case, cidr and
// $or.
//
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html
package pattern
