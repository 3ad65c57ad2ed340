// Package template represents a CloudFormation template as a typed tree.
//
// [Parse] reads YAML or JSON, with intrinsic functions in their short (!Ref X) and long ({"Ref":
// "X"}) forms, into a [Template]. Checks, schema validation, diff, policy and printing all work on
// the tree, and every [Node] has the line and column of its source, so that later problems have a
// position.
//
// Printing is canonical: templates with the same meaning print to the same bytes, in whatever
// syntax, order or form they were written. [Template.Digest] is the hash of that form, by which the
// project detects changes of a template.
//
// The package is pure: it does no I/O and knows neither AWS's API nor resource types, which are in
// package schema.
package template
