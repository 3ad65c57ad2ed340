// Package template is a CloudFormation template as a typed tree.
//
// [Parse] reads YAML or JSON, with intrinsic functions in their short
// (!Ref X) and long ({"Ref": "X"}) forms, into a [Template]. From there on
// nothing is text: checks, schema validation, diff, policy and printing all
// work on the tree, and every [Node] remembers the line and column it came
// from, so that whoever finds a problem later can say where it is.
//
// Printing is canonical: two templates that mean the same print to the same
// bytes, whichever syntax, order or form they were written in. [Template.Digest]
// is the hash of that form and is how the rest of the project tells whether a
// template changed.
//
// The package is pure: it does no I/O and knows neither AWS's API nor
// resource types. What a resource type allows is package schema's concern.
package template
