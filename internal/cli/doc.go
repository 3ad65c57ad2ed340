// Package cli is the command line. Every verb is a package beside this file
// with a Command function; adding a verb is adding a package and naming it in
// root.go.
//
// Commands write what they were asked for to standard output and everything
// else to standard error. They exit with 0, with 1 when they failed, with 2
// when they were called wrongly, and with 130 when they were interrupted before
// they were done.
package cli
