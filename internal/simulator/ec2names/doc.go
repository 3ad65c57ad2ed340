// Package ec2names knows the wire names of the members of EC2's requests and responses.
//
// EC2's protocol has its own names: the SDK's Vpcs is vpcSet in a response, its VpcIds is VpcId.1
// in a request, and a structure that is sent both ways may have one name for each. [Names] holds
// the names that do not follow from the Go name by the rule of the protocol. The program in
// generate derives the table from the SDK's source; after an update of the SDK, run go generate.
//
// https://smithy.io/2.0/aws/protocols/aws-ec2-query-protocol.html
package ec2names

//go:generate go run ./generate
