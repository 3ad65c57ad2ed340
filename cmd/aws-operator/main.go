// Command aws-operator is the operator, the simulator of AWS, and both with a
// management cluster on one machine. See aws-operator --help.
package main

import (
	"os"

	"github.com/aws-operator/aws-operator/internal/cli"
	"github.com/aws-operator/aws-operator/internal/cluster/addons/chartrender"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == chartrender.Command { // The operator's own child, which is no command for people.
		os.Exit(chartrender.Main(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
}
