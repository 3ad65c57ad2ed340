// Command aws-operator is the operator, the simulator of AWS, and both with a
// management cluster on one machine. See aws-operator --help.
package main

import (
	"os"

	"github.com/aws-operator/aws-operator/internal/cli"
	"github.com/aws-operator/aws-operator/internal/program/start"
	_ "github.com/aws-operator/aws-operator/internal/program/start/halfway" // What it is set up for, and when, is package start's.
)

func main() {
	start.Over()
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
}
