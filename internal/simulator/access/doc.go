// Package access decides whether a principal of the simulator may do what it asks for.
//
// In go policies of principals and requests; out comes yes or no. A principal without policies may do anything, as the simulator
// has always let callers. Of AWS's evaluation it has identity-based policies that allow: actions and resources with wildcards, and
// a few condition operators. What it does not have (denials, boundaries, resource-based policies, other operators), it refuses
// when it reads a policy; a condition on a key that a request does not have never holds.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
package access
