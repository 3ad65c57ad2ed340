// Package ecr simulates Amazon Elastic Container Registry: the repositories of each account and
// region with their images, and the CloudFormation type AWS::ECR::Repository.
//
// It serves ECR's own API, which can put and read images; docker cannot push to it.
package ecr
