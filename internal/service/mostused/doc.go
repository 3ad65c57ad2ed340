// Package mostused lists the CloudFormation types that public templates use most, with an example of each. Tests create,
// change and adopt the examples, and the reference says what they tested. It has no part in the operator.
package mostused
