// Package ec2names knows how EC2 calls the members of its requests and answers.
//
// EC2's protocol has its own names: the SDK's Vpcs is vpcSet in an answer, its
// VpcIds is VpcId.1 in a request, and a structure that is sent both ways may
// have a name for each. [Names] holds those that do not follow from the Go name
// by the rule of the protocol; its table is made by the program in generate from
// the SDK's own source, so a new version of the SDK needs only go generate.
//
// https://smithy.io/2.0/aws/protocols/aws-ec2-query-protocol.html
package ec2names

//go:generate go run ./generate
