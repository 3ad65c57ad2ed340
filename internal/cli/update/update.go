// Package update is the verb that makes what is there what the manifests say.
package update

import "github.com/spf13/cobra"

// Command returns the verb.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update",
		Short: "Update a cluster to match its manifests",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(clusterCommand())
	return cmd
}
