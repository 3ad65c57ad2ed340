// Package stacks says which stacks a cluster consists of, as they should be: it
// puts together what the model, the templates and the bundles say with what is
// remembered of the machines that stand already, so that nothing replaces them
// but what must.
//
// [Slot] and [Group] make the stack of machines: their bundle, the nodeup that
// they boot with, and the template. Two things stay as they are while machines
// stand: the nodeup of a bundle, since a new operator brings a new one, and the
// tags of disks, since they are in the launch template. The base stack is
// [render.Base]'s. [Recall] reads what an object's status remembers of a stack.
//
// The controllers apply these stacks, and package plan compares them with what is
// deployed. The package is pure.
package stacks
