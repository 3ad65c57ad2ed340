// Package nodeadm is the module of nodeadm, the program with which nodes of Amazon Linux 2023 join a cluster of EKS. It
// pins its version and those of its dependencies; the test of package eksboot builds the program from it, without
// changes, and checks user data with it.
//
// The module proxy has no newer version: the repository tags releases of images, not of this module.
package nodeadm
