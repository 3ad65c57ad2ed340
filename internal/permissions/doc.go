// Package permissions generates the IAM policies that users attach to the operator's role. For each
// call of the AWS SDK in this project it has the IAM actions, the resources and the reason, and for
// each CloudFormation type in the project's templates the actions that CloudFormation calls. Its only
// input is a [Choice] of kinds and clusters.
//
// Tests verify that the calls are exactly those of package awsapi, and the types exactly those of
// the templates. The package must never decide anything at run time.
package permissions
