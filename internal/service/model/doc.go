// Package model compiles ModelDefinitions.
//
// A definition is data that people write; a [Model] is that data checked and completed: the schema
// of the kind, its CustomResourceDefinition, the parsed template, the outputs. What a definition
// leaves out is derived from the schema of the CloudFormation resource type that it names, so that
// every resource type is a kind on demand.
//
// # Names
//
// Derived kinds spell their fields the way Kubernetes does: the property DBInstanceIdentifier is
// the field dbInstanceIdentifier, KMSKeyId is kmsKeyId, ARN is arn. [FieldName] is the rule. Where
// two properties of one object would get the same field, both keep CloudFormation's spelling. The
// keys of maps and of free-form documents (policies, for example) are the user's and stay as they
// are.
//
// # Templates
//
// Templates are Go text templates. In the template of a stack every interpolated value is written
// as a quoted YAML scalar or as a flow collection (see [ParseStackTemplate]), so that what a user
// puts into a spec can never become structure of the template.
//
// The package is pure.
package model
