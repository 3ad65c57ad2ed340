// Package catalog holds the kinds of AWS service that are built in, as data: one ModelDefinition
// in one YAML file each. Adding a kind is adding a file.
//
// CloudFormationTemplate, which has no stack of its own, is not a model: see
// [github.com/aws-operator/aws-operator/api/service/v1alpha1.CloudFormationTemplate].
//
// The package is pure.
package catalog
