package local

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/local/controlplane"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
)

func buildCommand() *cobra.Command {
	previous := false
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build bin/kube, the local Kubernetes, unless it is up to date",
		Long: `Build bin/kube: etcd and Kubernetes in one binary, from their Go modules. It takes
some minutes, once; "local up" and the tests do it by themselves where it is missing.

With KUBEBUILDER_ASSETS set, the etcd and kube-apiserver in that folder are used and
nothing is built.

With --previous, build bin/kube-previous, of the minor version before, from which the
tests upgrade a cluster.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if previous {
				path, err := kubebuild.Ensure(cmd.Context(), kubebuild.Options{Version: kubebuild.Previous, Progress: cmd.ErrOrStderr()})
				if err != nil {
					return err
				}
				_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "Kubernetes %s: %s\n", kubebuild.Previous.Kubernetes, path)
				return nil
			}
			binaries, err := controlplane.FindBinaries(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "local Kubernetes: %s\n", binaries.APIServer)
			return nil
		},
	}
	cmd.Flags().BoolVar(&previous, "previous", false, "build the minor version before instead, which only tests need")
	return cmd
}
