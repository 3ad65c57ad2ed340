// Package iam simulates AWS IAM as far as stacks, the AWS CLI and the operator need it: roles,
// users with access keys that the simulator accepts, managed and inline policies, instance profiles
// and OpenID Connect providers; and the CloudFormation types AWS::IAM::Role, Policy, ManagedPolicy,
// InstanceProfile, OIDCProvider and User.
//
// Package access decides requests by the policies that are stored here. All of AWS's own managed
// policies exist, but most without their documents: these allow nothing. Groups are not supported.
package iam
