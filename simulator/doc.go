// Package simulator starts AWS in the process of a Go test: queues, topics, tables, buckets, keys,
// networks, instances, load balancers and CloudFormation stacks, behind one loopback address that
// speaks AWS's own protocols. Clients are the AWS SDK's, or any other program that takes an
// endpoint URL.
//
//	func TestOrders(t *testing.T) {
//		cloud := simulator.Start(t)
//		queues := sqs.NewFromConfig(cloud.Config())
//		…
//	}
//
// Each simulated AWS is empty at the start and forgets everything at the end. Its accounts are
// separate. An access key ID of 12 digits is the root user of its account, with [Secret] as its secret.
// Users and roles that a test creates have the rights that their policies give them. It holds everything in
// memory and reaches nothing outside the process.
//
// README.md lists the operations and CloudFormation types. Other operations fail with the error
// code InvalidAction or the service's equivalent; other resource types fail the stack that has
// them. Its responses have been compared to AWS's documentation, the AWS SDKs, and Terraform's AWS
// provider, never to AWS itself.
package simulator
