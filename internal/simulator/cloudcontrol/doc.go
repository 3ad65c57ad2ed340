// Package cloudcontrol simulates the reads and lists of AWS Cloud Control API: the properties of any resource, in
// the form of its CloudFormation type, also if another client made it.
//
// Besides cloudformation:GetResource or ListResources, AWS asks for the permissions of the type's own handler, which the
// schemas of the simulator do not have. It does not ask for them.
// https://docs.aws.amazon.com/cloudcontrolapi/latest/userguide/what-is-cloudcontrolapi.html
package cloudcontrol
