// Package render turns an object of a modelled kind into what it asks for: the stack, and the
// ConfigMaps, Secrets and Services made from the stack's outputs.
//
// [Stack] combines the object's spec with [Facts], which is all that the operator knows beside it.
// The same object and facts give the same bytes: nothing that changes by itself (a resource
// version, a digest, the time) is put into a template, a parameter or a tag, because CloudFormation
// hands tags on to every resource and each change would touch them all.
//
// # Templates of users
//
// An object may name a CloudFormationTemplate to be used in place of its kind's own. That template
// is plain CloudFormation; it is told about the object by parameters, each only if it declares it:
// Namespace, ResourceName, ClusterName, ResourceVersion, every field of the spec in PascalCase
// (hashAttribute.name is HashAttributeName), and the kind's own further parameters.
// ResourceVersion is a short hash of the spec: Kubernetes' resource version changes with every
// write of a status, and a parameter that did would update the stack for ever.
//
// The package is pure.
package render
