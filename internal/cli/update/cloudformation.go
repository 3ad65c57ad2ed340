package update

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aws-operator/aws-operator/internal/cli/apply"
)

// cloudFormation updates the cluster to match the state or the files, as aws-operator apply does,
// with the flags of this command. It returns an error for flags of Terraform.
func cloudFormation(cmd *cobra.Command, name string) error {
	to := apply.Command()
	args := []string{"cluster", name}
	var foreign error
	cmd.Flags().Visit(func(given *pflag.Flag) {
		switch many, ok := given.Value.(pflag.SliceValue); {
		case given.Name == "target":
		case to.Flags().Lookup(given.Name) == nil:
			foreign = fmt.Errorf("--%s requires --target %s", given.Name, targetTerraform)
		case ok:
			for _, one := range many.GetSlice() {
				args = append(args, "--"+given.Name+"="+one)
			}
		default:
			args = append(args, "--"+given.Name+"="+given.Value.String())
		}
	})
	if foreign != nil {
		return foreign
	}
	to.SetArgs(args)
	to.SetIn(cmd.InOrStdin())
	to.SetOut(cmd.OutOrStdout())
	to.SetErr(cmd.ErrOrStderr())
	to.SilenceErrors, to.SilenceUsage = true, true
	return to.ExecuteContext(cmd.Context())
}
