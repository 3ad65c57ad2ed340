// Package schema knows the resource types of CloudFormation: their
// properties, which of them can be changed in place, what Fn::GetAtt may
// name, and whether a template uses them rightly.
//
// The knowledge is AWS's own public resource schemas, embedded as
// data/cfn-resource-schemas.json.gz and made anew by the program in fetch. A
// type is parsed only when it is asked for; [Registry] keeps the rest as bytes.
//
// [Registry.Validate] checks a template against the schemas without asking
// AWS. The package is pure.
package schema
