// Package ecr is Amazon Elastic Container Registry in the simulator: the
// repositories of each account and region with their images, and the
// CloudFormation type AWS::ECR::Repository.
//
// It serves ECR's own API, through which images can be put and read; it is not
// a registry that docker can push to.
package ecr
