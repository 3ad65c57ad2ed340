package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/local/environment"
)

type upFlags struct {
	dir        string
	detach     bool
	detached   bool
	noOperator bool
	latency    time.Duration
	seed       uint64
	lag        time.Duration
	iam        string
	machines   string
}

func upCommand() *cobra.Command {
	var flags upFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster, AWS and the operator, and stay up until Ctrl-C",
		Example: `  # Start, work in another terminal, and stop it with Ctrl-C:
  aws-operator local up

  # Start a second one, in the background, and stop it:
  aws-operator local up --detach --dir .local-2
  aws-operator local down --dir .local-2

  # Run an operator of your own, for example under a debugger:
  aws-operator local up --no-operator`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.detach && !flags.detached {
				return detach(cmd.Context(), flags, cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			return up(cmd.Context(), flags, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&flags.dir, "dir", defaultDir, "folder for everything the environment writes")
	cmd.Flags().BoolVar(&flags.detach, "detach", false, "run in the background, and return once it serves")
	cmd.Flags().BoolVar(&flags.noOperator, "no-operator", false, "start everything except the operator")
	cmd.Flags().
		DurationVar(&flags.latency, "latency", environment.DefaultLatency, "how long the simulated CloudFormation takes for each resource")
	cmd.Flags().Uint64Var(&flags.seed, "seed", 0, environment.SeedHelp)
	cmd.Flags().DurationVar(&flags.lag, "lag", environment.DefaultLag, environment.LagHelp)
	cmd.Flags().StringVar(&flags.iam, "iam", environment.DefaultIAM, environment.IAMHelp)
	cmd.Flags().StringVar(&flags.machines, "machines", string(environment.AutoMachines), environment.MachinesHelp)
	cmd.Flags().BoolVar(&flags.detached, "detached", false, "run as the background process of --detach")
	_ = cmd.Flags().MarkHidden("detached")
	return cmd
}

// up starts an environment in this process and keeps it running until it is interrupted.
func up(ctx context.Context, flags upFlags, out, progress io.Writer) (err error) {
	opts := environment.Options{
		Dir: flags.dir, Detached: flags.detached, Latency: flags.latency, Seed: flags.seed, Lag: flags.lag, Out: out, Progress: progress,
	}
	if opts.Machines, err = environment.ParseMachines(flags.machines); err != nil {
		return err
	}
	if opts.IAM, err = environment.ParseIAM(flags.iam); err != nil {
		return fmt.Errorf("--iam: %w", err)
	}
	if !flags.noOperator {
		if opts.Operator, err = os.Executable(); err != nil {
			return fmt.Errorf("find this binary, to run it as the operator: %w", err)
		}
	}
	env, err := environment.Up(ctx, opts)
	if err != nil {
		return explain(err, flags.dir)
	}
	if !flags.detached {
		howToUse(out, env.Dir(), flags.noOperator, "end it with Ctrl-C")
	}
	select {
	case <-ctx.Done():
		_, _ = fmt.Fprintln(out, "stopping")
	case <-env.Done():
		err = fmt.Errorf("a component exited, so the environment stops: %w", env.Err())
	}
	err = errors.Join(err, env.Stop(context.WithoutCancel(ctx)))
	if err == nil {
		_, _ = fmt.Fprintln(out, "stopped; all its files are deleted")
	}
	return err
}

func explain(err error, dir string) error {
	if errors.Is(err, environment.ErrRunning) {
		return fmt.Errorf(
			"%w; use it as it is, end it with: %s local down --dir %s, or start another one with another --dir", err, program(), dir,
		)
	}
	return err
}

func howToUse(out io.Writer, dir string, noOperator bool, end string) {
	_, _ = fmt.Fprintf(out, `
use it, in any terminal:

  export KUBECONFIG=%[1]s
  source %[2]s
`, filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "aws.env"))
	if noOperator {
		_, _ = fmt.Fprintf(out, "  %s operator        # yours to start\n", program())
	}
	_, _ = fmt.Fprintf(out, `  kubectl apply -f %s
  %s status --watch
  aws cloudformation list-stacks

%s
`, quickStart(dir), program(), end)
}

// program returns the name under which the user runs this program.
func program() string {
	if strings.ContainsRune(os.Args[0], filepath.Separator) {
		return os.Args[0]
	}
	return "aws-operator" // Found through PATH.
}

// quickStart returns a folder with the manifests of the quick start: the repository's in the
// repository, the environment's own elsewhere.
func quickStart(dir string) string {
	const folder = "examples/quickstart"
	if _, err := os.Stat(folder); err == nil {
		return folder
	}
	return environment.QuickStart(dir)
}

// shown returns the absolute path of a folder if it can be determined.
func shown(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}
