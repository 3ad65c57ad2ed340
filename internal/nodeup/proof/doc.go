// Package proof lets an instance prove which one it is: Sign makes a request of STS that only a session of the instance's role can sign,
// bound to one public key, and Verify has STS answer it.
//
// On EC2 the session of an instance profile's role is named after the instance, and only EC2 can open sessions of a role that trusts
// nobody but EC2, so that the answer of GetCallerIdentity names the instance:
// https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_iam-condition-keys.html (ec2:SourceInstanceARN, aws:userid)
//
// The proof may be read by others: it is good for its public key only, for some minutes, and for nothing but GetCallerIdentity. Verify
// never asks a host that the proof names.
package proof
