// Package access decides whether a principal of the simulator may make a request.
//
// It takes the identity-based policies of principals and a request, and returns AWS's reason for a
// denial. A principal without policies may do anything. Package iampolicy evaluates the policies; a
// condition on a key that the simulator does not set is evaluated as if the request did not have
// the key.
package access
