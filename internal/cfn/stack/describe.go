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
	// manyWaiting is the number of calls queued for the budget from which a DescribeStacks joins a
	// listing.
	manyWaiting = 10
	// longestListing limits the time of one listing, which outlives the visits that wait for it.
	longestListing = 2 * time.Minute
)

// describer reads stacks. While budget is left, it reads each stack with its own call. When calls
// queue for the budget, one listing of the target's stacks answers all of them.
type describer struct {
	clients Clients
	mu      sync.Mutex
	targets map[awsapi.Target]*batches
}

// batches are the listings of one target. At most one runs, while the next collects the calls that
// arrive meanwhile. A call's answer is always read after the call joined.
type batches struct {
	running   bool
	gathering *batch
	// pages is the number of calls of the last listing.
	pages int
}

type batch struct {
	ids   map[string]*live // the wanted stacks, filled in by the listing
	err   error
	ended chan struct{}
}

// describe returns the stack with a name or an ID, or nil if none exists. A deleted stack is found
// only by its ID; if going is true, the result may be nil for it too.
func (d *describer) describe(ctx context.Context, target awsapi.Target, name string, going bool) (*live, error) {
	if !strings.HasPrefix(name, "arn:") || !d.crowded(target) {
		return d.one(ctx, target, name)
	}
	found, err := d.join(ctx, target, name)
	if err != nil || found != nil || going {
		return found, err
	}
	return d.one(ctx, target, name) // the stack may be deleted, which the listing omits
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

// missing reports whether CloudFormation answered that the stack does not exist, which is a
// ValidationError. Other missing objects, such as a role or a template, have the same code:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html
func missing(err error) bool {
	message := awsapi.AWSMessage(err)
	return awsapi.Code(err) == "ValidationError" && strings.HasPrefix(message, "Stack") && strings.Contains(message, "does not exist")
}

// join waits for the listing that is collecting calls.
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

// work runs listings one after another until no call waits.
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

// serve runs one listing for all calls of the batch. A panic becomes an error of those calls: it
// must not end the process.
func (d *describer) serve(ctx context.Context, target awsapi.Target, mine *batch) (pages int) {
	ctx, cancel := context.WithTimeout(ctx, longestListing)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			mine.err = fmt.Errorf("panic while listing stacks: %v", cause)
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

// listStacks visits every stack of a target that is not deleted, and returns the number of calls.
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
