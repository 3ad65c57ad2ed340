// Package simulated simulates the CloudFormation resource types that have no simulated service,
// from their resource schema alone.
//
// A [Store] keeps such resources by their primary identifier: creating a second one with the same
// identifier fails, and reading or deleting a missing one returns NotFound. Identifiers and
// read-only attributes are generated in the format of AWS: names from stack and logical ID, ARNs,
// IDs with the prefix of the type, URLs, times. A resource has only the attributes of which AWS
// documents that it has them, so Fn::GetAtt of another one fails, as in AWS. [Validate] returns a resource handler's errors
// about properties that the schema does not allow; [Coerce] converts scalars as CloudFormation
// does; [MinimalProperties] generates the smallest valid properties.
package simulated
