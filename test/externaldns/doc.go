// Package externaldns is the module of ExternalDNS. It pins the version that the releases' chart runs and those of
// its dependencies; package test/roles builds the program from it, without changes.
//
// vbom.ml, from which an old dependency imports a package, no longer exists; the replacement has the same code
// (https://github.com/fvbommel/util).
package externaldns
