// Package schema describes the resource types of CloudFormation: their properties, which of them
// can be changed in place, and the attributes for Fn::GetAtt. It also validates templates against
// them.
//
// The data is AWS's public resource schemas, embedded as data/cfn-resource-schemas.json.gz and
// re-created by the program in fetch. A type is parsed only when it is requested; [Registry] keeps
// the rest as bytes.
//
// [Registry.Validate] validates a template without calling AWS. The package is pure: it makes no
// calls.
package schema
