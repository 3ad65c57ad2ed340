package flags

import "github.com/spf13/cobra"

// Confirm is the flag --yes. Without it, a command only shows what it would do.
type Confirm struct {
	// Yes is whether to apply the changes.
	Yes bool
}

// Add gives the command the flag --yes.
func (f *Confirm) Add(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.Yes, "yes", "y", false, "apply the changes; without it, only show them")
}
