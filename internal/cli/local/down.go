package local

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/local/environment"
)

// downWithin is the time limit for stopping an environment.
const downWithin = 30 * time.Second

func downCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop an environment that local up started, and delete its files",
		Args:  usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), downWithin)
			defer cancel()
			state, err := environment.Down(ctx, dir, clock.RealClock{})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "stopped process %d and deleted its files in %s\n", state.PID, shown(dir))
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", defaultDir, "folder of the environment to stop")
	return cmd
}
