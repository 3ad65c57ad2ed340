// Package iam simulates AWS IAM as far as stacks, the aws command and the
// operator need it: roles, users with access keys that the simulator then knows
// as callers, managed and inline policies, instance profiles and OpenID Connect
// providers; and the CloudFormation types AWS::IAM::Role, Policy, ManagedPolicy,
// InstanceProfile and User.
//
// Policies are kept and not evaluated: access is denied where a fault says so.
// AWS's own managed policies all exist, without their documents. Groups are not
// there.
package iam
