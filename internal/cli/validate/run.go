package validate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
)

// validation is one run of the command.
type validation struct {
	name    string
	observe func(context.Context) (*live.Observation, error)
	output  *flags.Output

	wait, interval time.Duration
	clock          clock.Clock
	// out receives the result, progress the lines before it.
	out, progress io.Writer
}

// run checks the cluster until it is healthy or the timeout ends, and prints the last result.
func (v *validation) run(ctx context.Context) error {
	deadline := v.clock.Now().Add(v.wait)
	reported := ""
	for {
		observed, err := v.observe(ctx)
		if err != nil && !v.again(err) {
			return err
		}
		var problems []live.Problem
		if err == nil {
			problems = live.Check(observed)
		}
		if over := !v.clock.Now().Add(v.interval).Before(deadline); err == nil && len(problems) == 0 || over {
			if err != nil {
				return err
			}
			return v.print(observed, problems)
		}
		if words := inWords(problems, err); words != reported {
			reported = words
			if _, err := fmt.Fprintf(v.progress, "%s %s\n", v.clock.Now().Format(time.TimeOnly), words); err != nil {
				return err
			}
		}
		timer := v.clock.NewTimer(v.interval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C():
		}
	}
}

// again reports whether to retry after AWS did not answer.
func (v *validation) again(err error) bool {
	failure, ok := errors.AsType[*awsapi.Failure](err)
	return ok && failure.Transient() && v.wait > 0
}

// inWords describes in one line what the command waits for.
func inWords(problems []live.Problem, err error) string {
	if err != nil {
		return fmt.Sprintf("Retrying: %s", err)
	}
	const most = 3
	var names []string
	for i, p := range problems {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(problems)-most))
			break
		}
		names = append(names, fmt.Sprintf("%s %s (%s)", p.Kind, p.Name, p.Reason))
	}
	return fmt.Sprintf("Waiting for %d: %s", len(problems), strings.Join(names, ", "))
}

// print prints the result, and returns an error with the exit code of an invalid cluster if there
// are problems.
func (v *validation) print(observed *live.Observation, problems []live.Problem) error {
	if err := v.output.Print(v.out, resultOf(v.name, observed, problems), tableOf(observed)); err != nil {
		return err
	}
	if v.output.Format == flags.FormatTable {
		if err := v.report(observed, problems); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return exit.Invalid(nil)
	}
	return nil
}

// report prints the result as sentences.
func (v *validation) report(observed *live.Observation, problems []live.Problem) error {
	var b strings.Builder
	if len(problems) == 0 {
		fmt.Fprintf(&b, "\nCluster %s is healthy. Its API serves at %s.\n", v.name, observed.AWS.Server())
	} else {
		fmt.Fprintf(&b, "\nCluster %s is not healthy:\n", v.name)
		for _, p := range problems {
			fmt.Fprintf(&b, "- %s %s (%s): %s\n", p.Kind, p.Name, p.Reason, p.Message)
		}
	}
	_, err := io.WriteString(v.out, b.String())
	return err
}
