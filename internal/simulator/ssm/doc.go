// Package ssm simulates the Parameter Store of AWS Systems Manager, and the
// CloudFormation type AWS::SSM::Parameter. Secure strings are shown only with
// decryption; KMS is not asked for it. Parameter policies and labels are not
// there.
package ssm
