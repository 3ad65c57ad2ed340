// Package render renders an object of a modeled kind: its stack, and the ConfigMaps, Secrets and
// Services from the stack's outputs.
//
// [Stack] combines the object's spec with [Facts], which is everything else that the operator
// knows. The same object and facts render to the same bytes. Templates, parameters and tags never
// contain a value that changes without an edit (a resource version, a digest, the time):
// CloudFormation propagates tags to every resource, so each change would update all of them.
//
// # User templates
//
// An object may reference a CloudFormationTemplate to use instead of its kind's own. That template
// is plain CloudFormation. It receives the object's data in the parameters that it declares:
// Namespace, ResourceName, ClusterName, ResourceVersion, every field of the spec in PascalCase
// (hashAttribute.name is HashAttributeName), and the kind's own additional parameters.
// ResourceVersion is a short hash of the spec: Kubernetes' resource version changes with every
// write of the status, and would update the stack endlessly.
//
// The package is pure: it makes no calls.
package render
