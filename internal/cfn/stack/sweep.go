package stack

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
)

// Sweep lists all stacks of a target's account and region, records their status, and returns an event for each stack of
// this operator that differs from its record, including those that no longer exist. It finds the
// changes that no event reported. A sweep costs one call for about 100 stacks.
func (e *Engine) Sweep(ctx context.Context, target awsapi.Target) ([]Event, error) {
	at := e.place(target)
	expected := e.watchlist.ours(at) // before the listing: a stack that is created during it may be missing from it
	mark, listed := e.watchlist.mark(), map[string]bool{}
	var events []Event
	_, err := listStacks(ctx, e.options.Clients.CloudFormation(target), func(s *types.Stack) {
		if s.RootId != nil {
			return // the engine handles only its parent
		}
		id, saw := aws.ToString(s.StackId), sight{string(s.StackStatus), changeMark(s)}
		delete(expected, id)
		listed[id] = true
		if e.watchlist.swept(id, at, saw) {
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
			events = append(
				events, Event{Target: target, StackID: id, StackName: nameOf(id), Status: string(types.StackStatusDeleteComplete)},
			)
		}
	}
	e.watchlist.prune(at, listed, mark)
	for _, event := range events {
		e.watchlist.event(event, at)
	}
	return events, nil
}
