package usage

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// None accepts no arguments.
func None(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("%s takes no arguments, but got %s", cmd.CommandPath(), strings.Join(args, " "))
	if cmd.Flags().Lookup("filename") != nil {
		return fmt.Errorf("%w: name files with -f FILE", err)
	}
	return err
}

// Name accepts exactly one argument, the name of an object of a kind, such as "cluster".
func Name(kind string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("name the %s: %s NAME", kind, cmd.CommandPath())
		}
		return one(cmd, args)
	}
}

// OptionalName accepts at most one argument, the name of an object.
func OptionalName(cmd *cobra.Command, args []string) error { return one(cmd, args) }

func one(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one name, but got %d: %s", cmd.CommandPath(), len(args), strings.Join(args, ", "))
	}
	return nil
}

// Cluster is the first of the two arguments that [ClusterOrAll] accepts.
const Cluster = "cluster"

// ClusterOrAll accepts the word "cluster" and a name, or no arguments, for everything in the files
// or the state.
func ClusterOrAll(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || len(args) == 2 && args[0] == Cluster {
		return nil
	}
	return fmt.Errorf(
		"%[1]s does not understand %[2]s: name one cluster as %[1]s cluster NAME, files with -f FILE, or nothing for all of the state",
		cmd.CommandPath(), strings.Join(args, " "),
	)
}
