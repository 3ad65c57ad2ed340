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
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cli/version"
)

const (
	// pollInterval is the interval at which stacks are polled, and waitLimit how long an operation
	// of CloudFormation may take.
	pollInterval = 5 * time.Second
	waitLimit    = 30 * time.Minute
)

type options struct {
	tier    string
	region  string
	report  string
	yes     bool
	cleanUp bool

	clock clock.Clock
	// interval replaces pollInterval.
	interval time.Duration
	// isTerminal reports whether a user can answer a question.
	isTerminal func(io.Reader) bool
}

// Command returns the command.
func Command() *cobra.Command {
	return command(&options{clock: clock.RealClock{}, interval: pollInterval, isTerminal: isTerminal})
}

func command(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trial",
		Short: "Check in an AWS account what this program assumes of AWS",
		Long: `Check in an AWS account some of the assumptions about AWS on which this program relies, and
print a report in Markdown: what held, what differed, and what was not checked.

Until now, this command has only run against this project's own simulator of AWS.

There are two tiers:
  free   Templates that are only validated, and a change set that is never executed. AWS
         charges nothing.
  cents  One stack with a queue, an event rule, a bucket, and a network load balancer in a VPC
         of its own, which is created, updated and deleted. It takes about ten minutes. AWS
         charges about 0.03 USD: an hour of the load balancer, and some requests.

The command states the price and asks before it creates anything. Without a terminal it requires
--yes. It deletes what it creates, and then lists what is left with its tag, ` + tagName + `.
If it is interrupted, run it again: it first deletes what the earlier run left. With
--clean-up it does only that.

It exits with 0 if everything that was checked held, with 3 if something differed, and with 1
if it could not check or something is left.`,
		Example: `  aws-operator trial --tier free --aws-region eu-central-1

  aws-operator trial --tier cents --yes --report trial.md

  aws-operator trial --clean-up`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	set := cmd.Flags()
	set.StringVar(&o.tier, "tier", "free", "what to check: free or cents")
	set.StringVar(&o.region, "aws-region", "", "AWS region (default: that of the AWS configuration)")
	set.StringVar(&o.report, "report", "", "write the report to this file instead of standard output")
	set.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	set.BoolVar(&o.cleanUp, "clean-up", false, "only delete what an earlier run left")
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	chosen, ok := tiers[o.tier]
	if !ok {
		return fmt.Errorf("--tier %s is unknown; use free or cents", o.tier)
	}
	ctx := cmd.Context()
	clients, err := awsapi.New(ctx, awsapi.Options{Region: o.region, UserAgent: "aws-operator/" + version.String()})
	if err != nil {
		return err
	}
	r := &runner{
		clients: clients, clock: o.clock, interval: o.interval, progress: cmd.ErrOrStderr(),
		region: clients.Region(awsapi.Target{}), tier: &chosen, findings: map[string]finding{},
	}
	if r.account, err = clients.Identity(ctx); err != nil {
		return awsapi.Known(err)
	}
	if err := o.confirm(cmd, r); err != nil {
		return err
	}
	began := o.clock.Now()
	err = o.checkAndCleanUp(ctx, r)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return exit.Interruption(fmt.Sprintf(
			"Interrupted. Stack %s may be left in account %s, region %s. Run the command again to delete it, or with --clean-up to do only that.",
			stackName, r.account, r.region,
		))
	}
	if err != nil || o.cleanUp {
		return err
	}
	if err := o.write(cmd.OutOrStdout(), r.markdown(began)); err != nil {
		return err
	}
	return r.verdict()
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
	if err := r.tier.check(ctx, r); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.say("The checks stopped: %s", awsapi.Known(err))
		r.stopped = awsapi.Known(err).Error()
	}
	if err := r.cleanUp(ctx); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.left = []string{awsapi.Known(err).Error()}
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
