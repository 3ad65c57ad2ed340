// Package cli is the command line. Every command is a package beside this file with a Command
// function; to add one, add a package and name it in root.go.
//
// Commands write their results to standard output and everything else to standard error. Package
// exit defines their exit codes.
package cli
