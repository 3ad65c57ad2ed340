// Package catalog contains the built-in kinds of AWS services as data: one YAML file with one
// ModelDefinition for each kind. To add a kind, add a file.
//
// CloudFormationTemplate, which has no stack, is not a model: see
// [github.com/aws-operator/aws-operator/api/service/v1alpha1.CloudFormationTemplate].
//
// The package is pure: it reads only its embedded files.
package catalog
