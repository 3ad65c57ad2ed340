// Package render renders a cluster's CloudFormation stacks: the base stack, one stack for each
// control-plane slot, and one for each instance group.
//
// The templates are the YAML files in the folder templates, one per concern, rendered by
// text/template from the resolved model. [Base], [Slot] and [Group] assemble and parse the files of
// a stack. The stack engine checks the result against CloudFormation's rules and the resource
// types' schemas before it sends anything; this package's tests check every shape of cluster in the
// same way. Rendering is pure and deterministic: the same model results in the same bytes.
//
// docs/reference/cluster-resources.md describes the resources.
//
// # Relations between stacks
//
// The base stack's outputs, whose names are in package model, become parameters of the other
// stacks. Nothing is exported, since an export cannot change while another stack imports it. A
// stack has parameters only for the outputs that it needs, so that a new output changes no
// template.
//
// # Resource sets
//
// A template queries the model's Features where sets differ. A published set must never change what
// it renders, byte for byte; golden files contain every set.
package render
