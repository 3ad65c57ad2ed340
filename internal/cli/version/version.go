// Package version implements the command version, which prints the version of this build.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
)

// Command returns the command.
func Command() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version of this binary",
		Args:  usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "aws-operator %s (%s, %s/%s; local Kubernetes %s)\n",
				String(), runtime.Version(), runtime.GOOS, runtime.GOARCH, kubebuild.KubernetesVersion)
			return err
		},
	}
}

// String is the version that Go recorded: the release's tag, or a pseudo-version
// of the commit, marked "+dirty" when there were uncommitted changes.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "v0.0.0-unknown"
	}
	return info.Main.Version
}
