// Package update implements the command update, which updates a cluster to match its manifests.
package update

import "github.com/spf13/cobra"

// Command returns the command.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update",
		Short: "Update a cluster to match its manifests",
	}
	cmd.AddCommand(clusterCommand())
	return cmd
}
