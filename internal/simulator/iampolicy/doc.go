// Package iampolicy parses IAM policy documents and decides requests by AWS's evaluation logic.
//
// [Parse] takes the JSON text of a policy of any type: identity-based, resource-based, a permissions
// boundary, a session policy or a trust policy. [Decide] takes a [Request] and the policies that
// apply to it, and returns whether the request is allowed and because of which policy. The package
// is pure: it does not know which policies exist, and performs no I/O.
//
// It implements all elements of the policy language (NotAction, NotResource, NotPrincipal, policy
// variables with defaults, every condition operator with IfExists, ForAllValues and ForAnyValue),
// and how policies of several types combine within an account and across accounts. It does not
// implement policies of AWS Organizations, of VPC endpoints, and access control lists.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
package iampolicy
