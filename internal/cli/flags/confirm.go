package flags

import "github.com/spf13/cobra"

// Confirm is the flag without which a command only shows what it would do.
type Confirm struct {
	// Yes is whether it is to be done.
	Yes bool
}

// Add gives the command the flag --yes.
func (f *Confirm) Add(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.Yes, "yes", "y", false, "apply the changes; without it, only show them")
}
