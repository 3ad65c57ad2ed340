package trial

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

const (
	// stackName is the only stack that a trial creates, so that the next run finds it.
	stackName = "aws-operator-trial"
	// noStack is a name that no stack has.
	noStack = "aws-operator-trial-none"
	// tagName is on everything that a trial creates.
	tagName, tagValue = "aws-operator/trial", "yes"
)

// result is what a check found.
type result string

const (
	held       result = "held"
	differed   result = "**differed**"
	notChecked result = "not checked"
)

// finding is the result of a check, and what was seen.
type finding struct {
	result result
	seen   string
}

// tier is a set of checks with a price.
type tier struct {
	name, creates, price string
	// charges are the parts of the price.
	charges []charge
	// finishes reports that what the tier creates is also deleted after an interruption, because it
	// costs money every hour.
	finishes bool
	// rows are the IDs of the assumptions that it checks, in the order of the report.
	rows  []string
	check func(context.Context, *runner) error
}

var tiers = map[string]tier{"free": free, "cents": cents, "hour": hour}

// runner runs the checks of a tier.
type runner struct {
	clients         *awsapi.Clients
	clock           clock.WithTicker
	interval        time.Duration
	progress        io.Writer
	account, region string
	tier            *tier
	// stateFolder is the folder of the cluster's state, empty for the default one; nodeupDir that of
	// the programs that instances boot with.
	stateFolder, nodeupDir string
	// limit is how long the cluster may take to reach a goal.
	limit time.Duration
	// keepSnapshot keeps the final snapshot of the cluster's etcd volume, which a check reads; volume
	// is that volume then.
	keepSnapshot bool
	volume       string

	// began reports that the checks have begun, so that what exists is not an earlier trial's.
	began    bool
	findings map[string]finding
	// stopped is why not all checks ran.
	stopped string
	// deleted are the stacks that were deleted, by ID, and left what is still there.
	deleted, left []string
}

func (r *runner) cloudformation() awsapi.CloudFormation {
	return r.clients.CloudFormation(awsapi.Target{})
}

// say prints a line of progress.
func (r *runner) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.progress, format+"\n", args...)
}

// found records the result of a check.
func (r *runner) found(id string, what result, format string, args ...any) {
	r.findings[id] = finding{what, fmt.Sprintf(format, args...)}
}

// expect records whether an assumption holds.
func (r *runner) expect(id string, holds bool, format string, args ...any) {
	what := differed
	if holds {
		what = held
	}
	r.found(id, what, format, args...)
}

// failed records that a call failed that should succeed. A failure that says nothing about the
// assumption, such as a missing permission, is no difference.
func (r *runner) failed(id string, err error) {
	if awsapi.Explain(err).Kind == awsapi.Rejected {
		r.found(id, differed, "%s", answer(err))
		return
	}
	r.found(id, notChecked, "%s", awsapi.Explain(err).Message)
}

// refused records whether AWS refused a call with one of the codes, and a message that contains a
// text.
func (r *runner) refused(id string, err error, text string, codes ...string) {
	code := awsapi.Code(err)
	for _, expected := range codes {
		if code == expected && strings.Contains(awsapi.AWSMessage(err), text) {
			r.found(id, held, "%s", answer(err))
			return
		}
	}
	if err == nil {
		r.found(id, differed, "AWS did not refuse the call.")
		return
	}
	r.failed(id, err)
}

// answer returns the code and the message of a refusal.
func answer(err error) string { return awsapi.Code(err) + ": " + awsapi.AWSMessage(err) }

// pause waits for one interval.
func (r *runner) pause(ctx context.Context) error {
	timer := r.clock.NewTimer(r.interval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	}
}

// stack returns a stack by its name or ID; nil if it does not exist.
func (r *runner) stack(ctx context.Context, name string) (*types.Stack, error) {
	out, err := r.cloudformation().DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if awsapi.Code(err) == "ValidationError" && strings.Contains(awsapi.AWSMessage(err), "does not exist") {
		return nil, nil //nolint:nilnil // nil means that there is none
	}
	if err != nil || len(out.Stacks) == 0 {
		return nil, err
	}
	return &out.Stacks[0], nil
}

// settled waits until no operation of a stack is in progress, and returns the stack. It waits before
// it reads the stack, because CloudFormation may not report an operation at once.
func (r *runner) settled(ctx context.Context, id string) (*types.Stack, error) {
	deadline := r.clock.Now().Add(waitLimit)
	for {
		if err := r.pause(ctx); err != nil {
			return nil, err
		}
		stack, err := r.stack(ctx, id)
		if err != nil {
			return nil, err
		}
		status := types.StackStatus("missing")
		if stack != nil {
			status = stack.StackStatus
		}
		if stack != nil && (!strings.HasSuffix(string(status), "_IN_PROGRESS") || status == types.StackStatusReviewInProgress) {
			return stack, nil
		}
		if r.clock.Now().After(deadline) {
			return nil, fmt.Errorf("stack %s is still %s after %s", stackName, status, waitLimit)
		}
	}
}

// outOfDate is the number of intervals for which reads may return a stack as it was before an operation.
// https://github.com/aws/aws-cdk-cli/pull/1803
const outOfDate = 6

// ended waits until an operation of a stack has ended, and returns the stack. A stack that is as it was
// before the operation counts only once reads cannot be out of date, since an operation may end in the
// status in which it began.
func (r *runner) ended(ctx context.Context, before *types.Stack) (*types.Stack, error) {
	started := r.clock.Now()
	for {
		stack, err := r.settled(ctx, aws.ToString(before.StackId))
		if err != nil || stack.StackStatus != before.StackStatus ||
			!aws.ToTime(stack.LastUpdatedTime).Equal(aws.ToTime(before.LastUpdatedTime)) || r.clock.Since(started) > outOfDate*r.interval {
			return stack, err
		}
	}
}

// changeSet creates a change set and waits until it is computed.
func (r *runner) changeSet(ctx context.Context, in *cloudformation.CreateChangeSetInput) (*cloudformation.DescribeChangeSetOutput, error) {
	in.StackName, in.Tags = aws.String(stackName), tags()
	made, err := r.cloudformation().CreateChangeSet(ctx, in)
	if err != nil {
		return nil, err
	}
	deadline := r.clock.Now().Add(waitLimit)
	for {
		out, err := r.cloudformation().DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{
			StackName: made.StackId, ChangeSetName: made.Id, IncludePropertyValues: aws.Bool(true),
		})
		if err != nil {
			return nil, err
		}
		if out.Status == types.ChangeSetStatusCreateComplete || out.Status == types.ChangeSetStatusFailed {
			return out, nil
		}
		if r.clock.Now().After(deadline) {
			return nil, fmt.Errorf("change set %s is still in status %s after %s", aws.ToString(in.ChangeSetName), out.Status, waitLimit)
		}
		if err := r.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// tags are the tags of everything that a trial creates.
func tags() []types.Tag { return []types.Tag{{Key: aws.String(tagName), Value: aws.String(tagValue)}} }
