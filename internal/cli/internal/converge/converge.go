// Package converge is shared by the commands that change a cluster until it reaches a goal: apply,
// update, upgrade and delete.
package converge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/cli/internal/logging"
	"github.com/aws-operator/aws-operator/internal/cli/internal/progress"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/inprocess"
	"github.com/aws-operator/aws-operator/internal/state"
)

// Flags are the flags of these commands.
type Flags struct {
	// NodeupDir is the folder of the programs that instances boot with.
	NodeupDir string

	poll    time.Duration
	verbose bool
	logging logging.Flags
}

// Add gives the command the flags --nodeup-dir, --poll, --verbose and those of logging.
func (f *Flags) Add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(
		&f.NodeupDir,
		"nodeup-dir",
		"",
		"folder of nodeup-linux-amd64 and nodeup-linux-arm64, with which instances boot (default: the folder of this program)",
	)
	set.DurationVar(&f.poll, "poll", 0, "how often to poll AWS while changes are in progress (default: 5s)")
	set.BoolVarP(&f.verbose, "verbose", "v", false, "write the log of the controllers to standard error instead of progress")
	f.logging.Add(set)
}

// To brings a cluster of a state to a goal and shows the progress: with the controllers in this
// process, or, if the state is a management cluster, by following the operator there. It returns
// the errors of [inprocess.Run] and [inprocess.Follow].
func (f *Flags) To(cmd *cobra.Command, in *state.State, cluster types.NamespacedName, goal inprocess.Goal) (err error) {
	ctx, clk := cmd.Context(), clock.RealClock{}
	logger, out := logr.Discard(), cmd.ErrOrStderr()
	if f.verbose {
		installed, err := f.logging.Install(out)
		if err != nil {
			return fmt.Errorf("set up logging: %w", err)
		}
		logger, out = installed, io.Discard
	} else {
		klog.SetLogger(logger) // Its log lines would corrupt the block of progress.
	}
	printer := progress.New(out, clk)
	management := in.Kubernetes()
	defer func() {
		printer.Close()
		if err != nil && ctx.Err() != nil {
			err = interrupted(err, management != nil)
		}
	}()
	if management != nil {
		return inprocess.Follow(
			ctx, inprocess.FollowOptions{Client: management, Cluster: cluster, Goal: goal, Observe: printer.Observe, Clock: clk},
		)
	}
	return inprocess.Run(ctx, inprocess.Options{
		State: in, Cluster: cluster.Name, Goal: goal, Purpose: cmd.Name(), NodeupDir: f.NodeupDir,
		AWS:     awsapi.Options{UserAgent: "aws-operator/" + version.String()},
		Observe: printer.Observe, Logger: logger, Clock: clk, Poll: f.poll,
	})
}

// interrupted returns an error that says how to continue after an interruption, unless there is
// another error as well, for example because the progress could not be stored.
func interrupted(err error, managed bool) error {
	beside := errors.Join(besides(err)...)
	switch {
	case beside != nil:
		return beside
	case managed:
		return exit.Interruption("Interrupted. The operator continues; run the same command to follow it again.")
	default:
		return exit.Interruption("Interrupted. The state has the progress; run the same command to continue. " +
			"Run it soon if instances are being replaced: CloudFormation waits for it and rolls back after a timeout.")
	}
}

// besides returns the joined errors that an interruption did not cause.
func besides(err error) (others []error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			others = append(others, besides(one)...)
		}
		return others
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return []error{err}
}
