// Package cli is the command line. Every verb is a package beside this file
// with a Command function; adding a verb is adding a package and naming it in
// root.go.
//
// Commands write what they were asked for to standard output and everything
// else to standard error. What they exit with is in package exit.
package cli
