// Package controller is the module of Karpenter's controller for AWS. It pins the controller's version and
// those of its dependencies; package test/karpenter builds the program from it, without changes.
//
// The version is the newest that the Go release of this repository compiles and whose Kubernetes libraries have
// the minor version of the Kubernetes that the clusters of the test run.
package controller
