// Package ssm simulates the Parameter Store of AWS Systems Manager, and the CloudFormation type
// AWS::SSM::Parameter. Secure strings are returned only with decryption, which does not involve
// KMS. Parameter policies and labels are not supported.
package ssm
