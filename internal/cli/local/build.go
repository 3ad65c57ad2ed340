package local

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/local/controlplane"
	"github.com/aws-operator/aws-operator/internal/local/environment"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/local/nodebuild"
)

func buildCommand() *cobra.Command {
	previous, oldest, containers := false, false, false
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build bin/kube, the local Kubernetes, unless it is up to date",
		Long: `Build bin/kube: etcd and Kubernetes in one binary, from their Go modules. This takes some
minutes, once; "local up" and the tests build it if it is missing.

With KUBEBUILDER_ASSETS set, the etcd and kube-apiserver in that folder are used and
nothing is built.

With --previous, build bin/kube-previous, of the previous minor version, and with --oldest
bin/kube-oldest, of the one before that. Tests upgrade clusters from these.

With --containers, build bin/containers in addition: the kubelet, containerd, runc, CNI plugins
and container images for "--machines container". runc needs gcc, pkg-config and libseccomp.`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case previous:
				return buildFormer(cmd, kubebuild.Previous)
			case oldest:
				return buildFormer(cmd, kubebuild.Oldest)
			}
			binaries, err := controlplane.FindBinaries(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "local Kubernetes: %s\n", binaries.APIServer)
			if containers {
				return buildContainers(cmd)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&previous, "previous", false, "build the previous minor version instead; only tests need it")
	cmd.Flags().BoolVar(&oldest, "oldest", false, "build the minor version before the previous one instead; only tests need it")
	cmd.Flags().BoolVar(&containers, "containers", false, "also build the programs that run containers on simulated machines")
	cmd.MarkFlagsMutuallyExclusive("previous", "oldest", "containers")
	return cmd
}

// buildContainers builds the programs that run containers.
func buildContainers(cmd *cobra.Command) error {
	programs, err := nodebuild.Ensure(cmd.Context(), nodebuild.Options{Progress: cmd.ErrOrStderr(), WithoutRestore: true})
	if err != nil {
		return err
	}
	kube, err := kubebuild.Ensure(cmd.Context(), kubebuild.Options{Progress: cmd.ErrOrStderr()})
	if err != nil {
		return err
	}
	dir, err := environment.BuildContainers(cmd.ErrOrStderr())(cmd.Context(), programs, kube)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "programs that run containers: %s\n", dir)
	return nil
}

// buildFormer builds the Kubernetes of an earlier minor version.
func buildFormer(cmd *cobra.Command, version kubebuild.Version) error {
	path, err := kubebuild.Ensure(cmd.Context(), kubebuild.Options{Version: version, Progress: cmd.ErrOrStderr()})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "Kubernetes %s: %s\n", version.Kubernetes, path)
	return nil
}
