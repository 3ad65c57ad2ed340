// Package iam simulates AWS IAM as far as stacks, the AWS CLI and the operator need it: roles,
// users with access keys that the simulator accepts, managed and inline policies, instance profiles
// and OpenID Connect providers; and the CloudFormation types AWS::IAM::Role, Policy, ManagedPolicy,
// InstanceProfile and User.
//
// Policies are stored but not evaluated: only faults deny access. All of AWS's own managed policies
// exist, but without their documents. Groups are not supported.
package iam
