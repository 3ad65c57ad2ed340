// Package trial implements the command trial, which checks in an account of the user what the
// project assumes of AWS.
package trial

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
)

const (
	// pollInterval is the interval at which stacks are polled, and waitLimit how long an operation
	// of CloudFormation may take.
	pollInterval = 5 * time.Second
	waitLimit    = 30 * time.Minute
	// convergeLimit is how long the cluster may take to be created, changed or deleted.
	convergeLimit = time.Hour
)

type options struct {
	tier    string
	region  string
	report  string
	state   string
	nodeup  string
	yes     bool
	cleanUp bool

	clock clock.WithTicker
	// interval replaces pollInterval, and limit convergeLimit.
	interval, limit time.Duration
	// isTerminal reports whether a user can answer a question.
	isTerminal func(io.Reader) bool
	// again returns a context that ends with the next interruption, after the first one.
	again func(context.Context) (context.Context, context.CancelFunc)
}

// Command returns the command.
func Command() *cobra.Command {
	return command(&options{clock: clock.RealClock{}, interval: pollInterval, limit: convergeLimit, isTerminal: isTerminal, again: nextInterruption})
}

// nextInterruption returns a context that ends with the next Ctrl-C or SIGTERM.
func nextInterruption(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
}

func command(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trial",
		Short: "Check in an AWS account what this program assumes of AWS",
		Long: `Check in an AWS account some of the assumptions about AWS on which this program relies, and
print a report in Markdown: what held, what differed, and what was not checked.

Until now, this command has only run against this project's own simulator of AWS.

There are three tiers:
  free   Templates that are only validated, and a change set that is never executed. AWS
         charges nothing.
  cents  One stack with a queue, an event rule, a bucket, and a network load balancer in a VPC
         of its own, which is created, updated and deleted. It takes about ten minutes. AWS
         charges about 0.03 USD: an hour of the load balancer, and some requests.
  hour   A cluster of one control-plane instance and one worker in a VPC of its own. Each
         instance is replaced once. It takes about an hour. The command lists what AWS
         charges before it asks.

The command states the price and asks before it creates anything. Without a terminal it requires
--yes. It deletes what it creates, and then lists what is left with its tag, ` + tagName + `.
If it is interrupted, run it again: it first deletes what the earlier run left. With
--clean-up it does only that. With --tier hour, an interrupted command first deletes the
cluster; a second interruption ends it at once. The state of the cluster, with its keys, is
in a folder of your cache directory, or in --state. The next run needs it.

It exits with 0 if everything that was checked held, with 3 if something differed, and with 1
if it could not check or something is left.`,
		Example: `  aws-operator trial --tier free --aws-region eu-central-1

  aws-operator trial --tier cents --yes --report trial.md

  aws-operator trial --tier hour --aws-region eu-central-1 --report trial.md

  aws-operator trial --clean-up`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	set := cmd.Flags()
	set.StringVar(&o.tier, "tier", "free", "what to check: free, cents or hour")
	set.StringVar(&o.region, "aws-region", "", "AWS region (default: that of the AWS configuration)")
	set.StringVar(&o.report, "report", "", "write the report to this file instead of standard output")
	set.StringVar(
		&o.state, "state", "",
		"with --tier hour: folder with the state of the cluster, for the next run if this one is interrupted (default: a folder in your cache directory)",
	)
	set.StringVar(
		&o.nodeup, "nodeup-dir", "",
		"with --tier hour: folder of nodeup-linux-amd64, with which instances boot (default: the folder of this program)",
	)
	set.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	set.BoolVar(&o.cleanUp, "clean-up", false, "only delete what an earlier run left")
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	chosen, ok := tiers[o.tier]
	if !ok {
		return fmt.Errorf("--tier %s is unknown; use free, cents or hour", o.tier)
	}
	ctx := cmd.Context()
	clients, err := awsapi.New(ctx, awsapi.Options{Region: o.region, UserAgent: userAgent})
	if err != nil {
		return err
	}
	r := &runner{
		clients: clients, clock: o.clock, interval: o.interval, progress: cmd.ErrOrStderr(),
		region: clients.Region(awsapi.Target{}), tier: &chosen, findings: map[string]finding{},
		stateFolder: o.state, nodeupDir: o.nodeup, limit: o.limit,
	}
	if r.account, err = clients.Identity(ctx); err != nil {
		return awsapi.Known(err)
	}
	if err := o.confirm(cmd, r); err != nil {
		return err
	}
	began := o.clock.Now()
	err = o.checkAndCleanUp(ctx, r)
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return o.interrupted(err, r)
	}
	if err != nil {
		return err
	}
	if o.cleanUp {
		r.say("Nothing is left with the tag %s.", tagName)
		return nil
	}
	if err := o.write(cmd.OutOrStdout(), r.markdown(began)); err != nil {
		return err
	}
	r.say("%s", r.summary(o.report))
	return r.verdict()
}

// interrupted returns the error of a run that was interrupted, which says what may be left.
func (o *options) interrupted(err error, r *runner) error {
	if err == nil && len(r.left) == 0 {
		return exit.Interruption("Interrupted. Everything that the trial created is deleted.")
	}
	what, them := "Stack "+stackName, "it"
	if r.tier.finishes {
		what, them = "Cluster "+clusterName+" and stack "+stackName, "them"
	}
	return exit.Interruption(fmt.Sprintf(
		"Interrupted. %s may be left in account %s, region %s. Run the command again to delete %s, or with --clean-up to do only that.",
		what, r.account, r.region, them,
	))
}

// checkAndCleanUp deletes what an earlier run left, checks, and deletes what the checks created. It
// returns an error if it could not begin.
func (o *options) checkAndCleanUp(ctx context.Context, r *runner) error {
	if err := r.cleanUp(ctx); err != nil {
		return err
	}
	if o.cleanUp {
		if len(r.left) > 0 {
			return fmt.Errorf("these resources are left: %s", strings.Join(r.left, ", "))
		}
		return nil
	}
	r.began = true
	err := r.tier.check(ctx, r)
	switch {
	case ctx.Err() != nil && r.tier.finishes:
		r.say("Interrupted. Deleting what the trial created; that takes some minutes. Interrupt again to leave it.")
		var stop context.CancelFunc
		ctx, stop = o.again(ctx)
		defer stop()
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		r.say("The checks stopped: %s", awsapi.Known(err))
		r.stopped = awsapi.Known(err).Error()
	}
	if err := r.cleanUp(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.left = append([]string{awsapi.Known(err).Error()}, r.left...)
	}
	return nil
}

// confirm asks the user whether to continue, unless --yes answers it.
func (o *options) confirm(cmd *cobra.Command, r *runner) error {
	what := fmt.Sprintf(
		"This trial creates %s, in account %s, region %s. AWS charges %s.\n", r.tier.creates, r.account, r.region, r.tier.price,
	)
	if o.cleanUp {
		what = fmt.Sprintf("This deletes what an earlier trial left in account %s, region %s. AWS charges nothing.\n", r.account, r.region)
	}
	cmd.PrintErr(what)
	if !o.cleanUp {
		cmd.PrintErr(priceList(r.tier.charges))
		cmd.PrintErrln("Until now, this command has only run against this project's own simulator of AWS.")
	}
	if o.yes {
		return nil
	}
	if !o.isTerminal(cmd.InOrStdin()) {
		return errors.New("standard input is not a terminal, so the command cannot ask: add --yes to continue")
	}
	cmd.PrintErr("Continue? [y/N] ")
	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	if word := strings.ToLower(strings.TrimSpace(answer)); word != "y" && word != "yes" {
		return errors.New("the answer was not yes; nothing was created")
	}
	return nil
}

func (o *options) write(out io.Writer, report string) error {
	if o.report == "" {
		_, err := io.WriteString(out, report)
		return err
	}
	if err := os.WriteFile(o.report, []byte(report), 0o644); err != nil { //nolint:gosec // it has no secrets
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func isTerminal(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
