// Package iam implements the command iam, which prints the IAM policies that the operator and the
// commands need. It calls neither AWS nor a cluster.
package iam
