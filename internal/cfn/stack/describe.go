package stack

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

const (
	// manyWaiting is from how many calls that wait for the budget on a look joins others in one listing.
	manyWaiting = 10
	// longestListing bounds one listing, which outlives the visits that wait for it.
	longestListing = 2 * time.Minute
)

// describer reads stacks. While the budget lasts, it reads each by itself. When calls queue up for the budget, it answers all
// looks that wait from one listing of the target's stacks.
type describer struct {
	clients Clients
	mu      sync.Mutex
	targets map[awsapi.Target]*batches
}

// batches are the listings of one target: at most one runs while one gathers those who come meanwhile. Whoever joins gets an
// answer that was read after he joined.
type batches struct {
	running   bool
	gathering *batch
	// pages is how many calls the last listing took.
	pages int
}

type batch struct {
	ids   map[string]*live // wanted, and filled in when the batch is done
	err   error
	ended chan struct{}
}

// describe returns the stack of a name or an ID, and nil if there is none. A deleted stack is found only by its ID, unless going
// is true: then a deleted stack may be nil as well.
func (d *describer) describe(ctx context.Context, target awsapi.Target, name string, going bool) (*live, error) {
	if !strings.HasPrefix(name, "arn:") || !d.crowded(target) {
		return d.one(ctx, target, name)
	}
	found, err := d.join(ctx, target, name)
	if err != nil || found != nil || going {
		return found, err
	}
	return d.one(ctx, target, name) // deleted, perhaps: the listing leaves those out
}

func (d *describer) crowded(target awsapi.Target) bool {
	waiting := d.clients.Waiting(target, "cloudformation")
	if waiting < manyWaiting {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.targets[target]
	return !ok || waiting >= known.pages
}

func (d *describer) one(ctx context.Context, target awsapi.Target, name string) (*live, error) {
	out, err := d.clients.CloudFormation(target).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String(name)})
	switch {
	case missing(err):
		return nil, nil
	case err != nil:
		return nil, err
	case len(out.Stacks) == 0:
		return nil, nil
	default:
		return liveFrom(&out.Stacks[0]), nil
	}
}

// missing is true for CloudFormation's answer that a stack does not exist, a ValidationError. What else does not exist, such as a
// role or a template, has the same code:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html
func missing(err error) bool {
	message := awsapi.AWSMessage(err)
	return awsapi.Code(err) == "ValidationError" && strings.HasPrefix(message, "Stack") && strings.Contains(message, "does not exist")
}

// join waits for the listing that gathers now.
func (d *describer) join(ctx context.Context, target awsapi.Target, id string) (*live, error) {
	d.mu.Lock()
	known, ok := d.targets[target]
	if !ok {
		known = &batches{}
		d.targets[target] = known
	}
	if known.gathering == nil {
		known.gathering = &batch{ids: map[string]*live{}, ended: make(chan struct{})}
	}
	mine := known.gathering
	mine.ids[id] = nil
	if !known.running {
		known.running = true
		go d.work(context.WithoutCancel(ctx), target, known)
	}
	d.mu.Unlock()
	select {
	case <-mine.ended:
		return mine.ids[id], mine.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// work runs one listing after the other while somebody waits.
func (d *describer) work(ctx context.Context, target awsapi.Target, known *batches) {
	for {
		d.mu.Lock()
		mine := known.gathering
		known.gathering = nil
		if mine == nil {
			known.running = false
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
		pages := d.serve(ctx, target, mine)
		d.mu.Lock()
		known.pages = pages
		d.mu.Unlock()
		close(mine.ended)
	}
}

// serve lists once for all who wait. A panic is an error of theirs: it must not end the process.
func (d *describer) serve(ctx context.Context, target awsapi.Target, mine *batch) (pages int) {
	ctx, cancel := context.WithTimeout(ctx, longestListing)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			mine.err = fmt.Errorf("panic while stacks were listed: %v", cause)
		}
	}()
	pages, err := listStacks(ctx, d.clients.CloudFormation(target), func(s *types.Stack) {
		if _, wanted := mine.ids[aws.ToString(s.StackId)]; wanted {
			mine.ids[aws.ToString(s.StackId)] = liveFrom(s)
		}
	})
	mine.err = err
	return pages
}

// listStacks visits every stack of a target that is not deleted, and returns the number of calls it took.
func listStacks(ctx context.Context, reader awsapi.StackReader, visit func(*types.Stack)) (int, error) {
	pages := 0
	paginator := cloudformation.NewDescribeStacksPaginator(reader, &cloudformation.DescribeStacksInput{})
	for paginator.HasMorePages() {
		page, err := paginator.NextPage(ctx)
		if err != nil {
			return pages, err
		}
		pages++
		for i := range page.Stacks {
			visit(&page.Stacks[i])
		}
	}
	return pages, nil
}
