package stack

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// Sweep lists all stacks of a target, notes what it sees, and returns an event for each stack of ours that is not as its record
// says, also for those that vanished. It finds what no event told. A full sweep costs one call for each hundred stacks or so.
func (e *Engine) Sweep(ctx context.Context, target awsapi.Target) ([]Event, error) {
	expected := e.watchlist.ours(target) // before the listing: what is made during it may be missing from it
	mark, listed := e.watchlist.mark(), map[string]bool{}
	var events []Event
	_, err := listStacks(ctx, e.options.Clients.CloudFormation(target), func(s *types.Stack) {
		if s.RootId != nil {
			return // a nested stack is its parent's concern
		}
		id, saw := aws.ToString(s.StackId), sight{string(s.StackStatus), changeMark(s)}
		delete(expected, id)
		listed[id] = true
		if e.watchlist.swept(id, target, saw) {
			events = append(events, Event{
				Target: target, StackID: id, StackName: aws.ToString(s.StackName),
				Status: saw.status, Reason: aws.ToString(s.StackStatusReason), Changed: saw.changed,
			})
		}
	})
	if err != nil {
		return nil, awsapi.Explain(err)
	}
	for id, recorded := range expected {
		if !deleted(types.StackStatus(recorded.status)) {
			events = append(events, Event{Target: target, StackID: id, StackName: nameOf(id), Status: string(types.StackStatusDeleteComplete)})
		}
	}
	e.watchlist.prune(target, listed, mark)
	for _, event := range events {
		e.watchlist.event(event)
	}
	return events, nil
}
