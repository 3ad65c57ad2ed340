package local

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/local/controlplane"
)

func buildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build bin/kube, the local Kubernetes, unless it is up to date",
		Long: `Build bin/kube: etcd and Kubernetes in one binary, from their Go modules. It takes
some minutes, once; "local up" and the tests do it by themselves where it is missing.

With KUBEBUILDER_ASSETS set, the etcd and kube-apiserver in that folder are used and
nothing is built.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			binaries, err := controlplane.FindBinaries(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "local Kubernetes: %s\n", binaries.APIServer)
			return nil
		},
	}
}
