package stack

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// crowd is a script with an exhausted budget: 100 calls wait, and a listing blocks until the test
// releases it.
type crowd struct {
	*script
	gate chan struct{}
}

func (c *crowd) Waiting(awsapi.Target, string) int                  { return 100 }
func (c *crowd) CloudFormation(awsapi.Target) awsapi.CloudFormation { return c }
func (c *crowd) CloudControl(awsapi.Target) awsapi.CloudControl     { return nil }

func (c *crowd) DescribeStacks(
	ctx context.Context, in *cloudformation.DescribeStacksInput, _ ...func(*cloudformation.Options),
) (*cloudformation.DescribeStacksOutput, error) {
	if in.StackName == nil {
		<-c.gate
	}
	return c.script.DescribeStacks(ctx, in)
}

// await waits for a condition.
func await(t *testing.T, condition func() bool) {
	t.Helper()
	patience.UntilTrue(t, "the condition", condition)
}

func TestDescribesAreBatchedWhenTheBudgetIsExhausted(t *testing.T) {
	s := newScript(t)
	const stacks = 50
	var ids []string
	for i := range stacks {
		desired := desire(t, 1)
		desired.Name = fmt.Sprintf("jobs-%d", i)
		result, err := s.engine().Ensure(t.Context(), awsapi.Target{}, desired, Record{})
		if err != nil {
			t.Fatal(err)
		}
		s.end(types.StackStatusCreateComplete, "")
		ids = append(ids, result.Record.StackID)
	}
	s.forgetCalls()
	c := &crowd{script: s, gate: make(chan struct{})}
	d := &describer{clients: c, targets: map[awsapi.Target]*batches{}}
	var group sync.WaitGroup
	refresh := func(id string) {
		group.Go(func() {
			found, err := d.describe(t.Context(), awsapi.Target{}, id, false)
			if err != nil || found == nil || found.id != id {
				t.Errorf("%s: found %+v, error %v", id, found, err)
			}
		})
	}
	gathered := func() int { // -1 until the first listing runs
		d.mu.Lock()
		defer d.mu.Unlock()
		switch known := d.targets[awsapi.Target{}]; {
		case known == nil:
			return -1
		case known.gathering == nil:
			return 0
		default:
			return len(known.gathering.ids)
		}
	}
	refresh(ids[0])
	await(t, func() bool { return gathered() == 0 })
	for _, id := range ids[1:] {
		refresh(id)
	}
	await(t, func() bool { return gathered() == stacks-1 })
	close(c.gate)
	group.Wait()
	if len(s.calls) != 2 {
		t.Errorf("%d calls for %d stacks, want two listings", len(s.calls), stacks)
	}
}

func TestDeletedStackIsDescribedWithItsOwnCall(t *testing.T) {
	s := newScript(t)
	_, record := made(t, s)
	s.end(types.StackStatusDeleteComplete, "")
	c := &crowd{script: s, gate: make(chan struct{})}
	close(c.gate)
	d := &describer{clients: c, targets: map[awsapi.Target]*batches{}}
	found, err := d.describe(t.Context(), awsapi.Target{}, record.StackID, false)
	if err != nil || found == nil || found.status != types.StackStatusDeleteComplete {
		t.Errorf("found %+v, error %v, want the deleted stack, which listings omit", found, err)
	}
	if found, err := d.describe(t.Context(), awsapi.Target{}, record.StackID, true); err != nil || found != nil {
		t.Errorf("found %+v, error %v, want nothing: it was being deleted and the listing lacks it", found, err)
	}
}

// panicking panics in a listing, as a defect in the decoding of an answer would.
type panicking struct{ *script }

func (p *panicking) Waiting(awsapi.Target, string) int                  { return 100 }
func (p *panicking) CloudFormation(awsapi.Target) awsapi.CloudFormation { return p }
func (p *panicking) CloudControl(awsapi.Target) awsapi.CloudControl     { return nil }

func (p *panicking) DescribeStacks(
	context.Context, *cloudformation.DescribeStacksInput, ...func(*cloudformation.Options),
) (*cloudformation.DescribeStacksOutput, error) {
	panic("a page without an end")
}

func TestPanicInAListingIsAnErrorOfItsCalls(t *testing.T) {
	d := &describer{clients: &panicking{newScript(t)}, targets: map[awsapi.Target]*batches{}}
	_, err := d.join(t.Context(), awsapi.Target{}, "arn:aws:cloudformation:eu-central-1:123456789012:stack/jobs/1")
	if err == nil || !strings.Contains(err.Error(), "a page without an end") {
		t.Errorf("the error is %v", err)
	}
}
