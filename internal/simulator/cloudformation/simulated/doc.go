// Package simulated plays the CloudFormation resource types that have no
// simulated service behind them, from nothing but their resource schema.
//
// A [Store] keeps such resources by their primary identifier: creating a second
// one of the same identifier is refused, reading and deleting a missing one is
// NotFound. Identifiers and read-only attributes are made up in the shape that
// AWS gives them: names from stack and logical ID, ARNs, IDs with the prefix of
// the type, URLs, times. [Validate] says what a resource handler would say of
// properties that the schema does not allow; [Coerce] converts scalars as
// CloudFormation does; [MinimalProperties] makes the smallest valid properties.
package simulated
