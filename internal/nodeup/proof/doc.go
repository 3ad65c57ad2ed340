// Package proof lets an instance prove which one it is: [Sign] makes a presigned request of STS
// that only a session of the instance's role can sign, bound to one public key, and
// [Verifier.Verify] sends it to STS and returns the session.
//
// On EC2 the session of an instance profile's role is named after the instance, and EC2 alone can
// open sessions of a role that trusts no other principal. So the answer of GetCallerIdentity names
// the instance: https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_iam-condition-keys.html
// (aws:userid)
//
// A proof is not a secret: it holds for its public key only, for some minutes, and for no call but
// GetCallerIdentity. Verify sends it to the host that its caller names, never to one that the proof
// names.
package proof
