// Package demo implements the command demo, which shows the operator at work on a machine without a
// cluster and without an AWS account, and cleans up.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/examples"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/local/environment"
)

// within is the time limit of the demo once the environment is up.
const within = 6 * time.Minute

// latency is long enough to show stacks in progress, and short enough not to delay the demo.
const latency = 500 * time.Millisecond

// Command returns the command.
func Command() *cobra.Command {
	var seed uint64
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the operator at work on this machine, and clean up",
		Long: `Start a cluster, a simulator of AWS and the operator on this machine, and apply
examples/quickstart. Show how the objects become Ready, what AWS reports about them, and
what the new Kubernetes cluster contains. Then delete the objects and stop.
No process and no file is left behind.`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), seed, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 0, environment.SeedHelp)
	return cmd
}

func run(ctx context.Context, seed uint64, out, progress io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this binary, to run it as the operator: %w", err)
	}
	dir, err := os.MkdirTemp("", "aws-operator-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	heading(out, "Start a cluster, AWS and the operator on loopback")
	env, err := environment.Up(ctx, environment.Options{
		Dir: dir, Operator: self, Latency: latency, Seed: seed, WithoutRestore: true, Out: out, Progress: progress,
	})
	if err != nil {
		return err
	}
	err = show(ctx, env, out)
	if err != nil {
		// Stopping the environment deletes the log.
		err = fmt.Errorf("%w\n\nthe end of the operator's log:\n%s", err, env.OperatorLog())
	}
	return errors.Join(err, stop(context.WithoutCancel(ctx), env, out))
}

// show applies the quick start, waits until it is Ready, shows its resources in AWS and deletes it.
func show(ctx context.Context, env *environment.Environment, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	manifests, err := readManifests(examples.QuickStart)
	if err != nil {
		return err
	}
	cluster, err := newCluster(env.RESTConfig())
	if err != nil {
		return err
	}
	s := &stage{out: out, clock: clock.RealClock{}, cluster: cluster}
	for _, act := range []struct {
		title string
		play  func(context.Context, []*object) error
	}{
		{"kubectl apply -f examples/quickstart", s.apply},
		{"aws-operator status --watch", s.awaitReady},
		{"The status of the objects", s.showOutputs},
		{"Inside the new cluster, with the kubeconfig in Secret/demo-kubeconfig", func(ctx context.Context, objects []*object) error {
			return s.showClusters(ctx, objects, env.State().Machines == environment.ProcessMachines)
		}},
		{"What AWS reports, through the AWS SDK", func(ctx context.Context, _ []*object) error {
			return s.useAWS(ctx, env.State().AWS)
		}},
		{"kubectl delete -f examples/quickstart", s.remove},
		{"What is left in AWS and in the cluster", func(ctx context.Context, _ []*object) error {
			return s.showNothingLeft(ctx, env.State().AWS)
		}},
	} {
		heading(out, act.title)
		if err := act.play(ctx, manifests); err != nil {
			return err
		}
	}
	return nil
}

func heading(out io.Writer, title string) { _, _ = fmt.Fprintf(out, "\n── %s\n", title) }
