// Command aws-operator is the operator, the simulator of AWS, and both with a
// management cluster on one machine. See aws-operator --help.
package main

import (
	"os"

	"github.com/aws-operator/aws-operator/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) }
