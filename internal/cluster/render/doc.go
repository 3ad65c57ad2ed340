// Package render writes a cluster's CloudFormation stacks: what is shared, one
// stack for each slot of the control plane, and one for each instance group.
//
// The stacks' templates are the YAML files of templates, one a concern, rendered
// by text/template from the model, in which everything is decided. [Base],
// [Slot] and [Group] put the files of a stack together and parse the whole.
// Whether it keeps to CloudFormation's rules and the resource types' schemas is
// for the stack engine to check, before it sends anything; the package's tests
// hold every shape of cluster against the same. Rendering is deterministic: the
// same model gives the same bytes.
//
// What the stacks hold, and why, is told in docs/reference/cluster-resources.md.
//
// # How the stacks hang together
//
// The base stack's outputs, whose names are package model's, become parameters
// of the other stacks; nothing is exported, since an export cannot change as
// long as someone imports it. Only what a stack needs of them is asked for, so
// that an output added later changes no template.
//
// # What differs between resource sets
//
// A template asks the model's Features where sets differ. What a published set
// renders stays as it is, byte for byte; golden files hold every set.
//
// The package is pure.
package render
