// Package access decides whether a principal of the simulator may make a request.
//
// It takes the policies of principals and a request, and answers yes or no. A principal without
// policies may do anything. Of AWS's policy evaluation it implements identity-based policies that
// allow: actions and resources with wildcards, and a few condition operators. It refuses to parse a
// policy that uses anything else (denials, boundaries, resource-based policies, other operators). A
// condition on a key that the request does not have never holds.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
package access
