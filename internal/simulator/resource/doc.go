// Package resource is the contract between the simulator's CloudFormation engine and the services
// that hold the resources it creates.
//
// A service package (sqs, dynamodb, …) offers a [Provider] for each CloudFormation type that it
// backs. The engine resolves intrinsic functions, orders the resources by their dependencies and
// chooses between an update in place and a replacement. A provider only does what a CloudFormation
// resource handler does: create, update, delete or read one resource. It never waits; the engine
// adds latency.
//
// The contract follows the one AWS documents for resource handlers:
// https://docs.aws.amazon.com/cloudformation-cli/latest/userguide/resource-type-test-contract.html
package resource
