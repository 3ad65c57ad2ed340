// Package local implements the command local, which starts and stops an environment on this
// machine: a management cluster, a simulator of AWS and the operator.
package local

import (
	"github.com/spf13/cobra"
)

// defaultDir is the environment's folder without --dir.
const defaultDir = ".local"

// Command returns the command.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "local",
		Short: "Run a cluster, AWS and the operator on this machine",
		Long: `Run a Kubernetes API, a simulator of AWS and the operator on this machine's
loopback, without containers and without an AWS account.

An environment keeps all its files in one folder (--dir). Any number of environments can
run side by side in different folders. When an environment stops, it deletes everything
that it created: the simulated AWS is in memory.`,
	}
	cmd.AddCommand(upCommand(), downCommand(), buildCommand())
	return cmd
}
