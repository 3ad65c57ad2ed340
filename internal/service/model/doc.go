// Package model compiles ModelDefinitions.
//
// A definition is data that users write. A [Model] is that data, validated and completed: the
// schema of the kind, its CustomResourceDefinition, the parsed template, the outputs. What a
// definition omits is derived from the schema of its CloudFormation resource type, so that every
// resource type can become a kind.
//
// # Names
//
// Derived kinds name their fields as Kubernetes does: the property DBInstanceIdentifier becomes the
// field dbInstanceIdentifier, KMSKeyId kmsKeyId, and ARN arn. [FieldName] is the rule. If two
// properties of one object would get the same field name, both keep CloudFormation's. The keys of
// maps and of free-form documents (policies, for example) belong to the user and are not renamed.
//
// # Templates
//
// Templates are Go text templates. In the template of a stack, every interpolated value is written
// as a quoted YAML scalar or as a flow collection (see [ParseStackTemplate]), so that a value in a
// spec can never become structure of the template.
//
// The package is pure: it makes no calls.
package model
