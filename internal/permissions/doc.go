// Package permissions says what the operator may do in AWS: for each call of the SDK that the
// project makes, the IAM actions that it needs, the resources and the reason, and for each
// CloudFormation type of our templates the actions that CloudFormation calls. In go nothing; out
// come the policy documents that people attach to the operator's role.
//
// A test holds that the calls are those of package awsapi, and another that the types are those of
// the templates. It never decides anything at run time.
package permissions
