// Package resource is the contract between the simulator's CloudFormation
// engine and the services that hold the things it makes.
//
// A service package (sqs, dynamodb, …) offers a [Provider] for each
// CloudFormation type it backs. The engine resolves intrinsics, orders the
// resources by their dependencies and decides between an update in place and a
// replacement; a provider only does what a CloudFormation resource handler
// does: create, update, delete or read one resource. It never waits: latency is
// the engine's to add.
//
// The contract follows the one AWS documents for resource handlers:
// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract.html
package resource
