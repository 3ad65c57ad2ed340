// Package stacks computes the desired stacks of a cluster's instances: it combines the model, the
// templates and the bundles with the record of the existing instances, so that only necessary
// changes replace them.
//
// [Slot] and [Group] return the stack of instances: their bundle, the nodeup that they boot with,
// and the template. Two things stay unchanged while instances exist: the nodeup of a bundle, since
// a new operator ships a new one, and the tags of disks, since they are in the launch template.
// [render.Base] renders the base stack. Package record holds the record.
//
// The controllers apply these stacks, and package plan compares them with the deployed ones. The
// package is pure: it must never make calls.
package stacks
