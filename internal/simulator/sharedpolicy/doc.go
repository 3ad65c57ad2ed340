// Package sharedpolicy backs the CloudFormation types that set one policy on several resources:
// AWS::SQS::QueuePolicy and AWS::SNS::TopicPolicy.
package sharedpolicy
