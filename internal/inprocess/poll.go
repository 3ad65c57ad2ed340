package inprocess

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/awsevents"
)

// polled finds instances that wait to be drained by polling, instead of by the messages of an SQS
// queue. The stack engine polls stacks itself.
type polled struct {
	listener *awsevents.Listener // never started, since it would create its queue
	clock    clock.WithTicker
	every    time.Duration

	mu      sync.Mutex
	targets map[string]awsapi.Target // by user
	expect  func(awsapi.Place) awsevents.Expectation
}

// Subscribe calls fn for every event.
func (p *polled) Subscribe(fn func(awsevents.Event)) { p.listener.Subscribe(fn) }

// Use adds an account and region to poll.
func (p *polled) Use(user string, target awsapi.Target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.targets[user] = target
}

// Release stops polling an account and region.
func (p *polled) Release(user string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.targets, user)
}

// ExpectInstances polls for instances where expect reports terminating ones.
func (p *polled) ExpectInstances(expect func(awsapi.Place) awsevents.Expectation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expect = expect
	p.listener.ExpectInstances(expect)
}

// Start polls until ctx ends. It implements manager.Runnable.
func (p *polled) Start(ctx context.Context) error {
	ticker := p.clock.NewTicker(p.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
		for _, target := range p.expecting() {
			// A failed poll is retried at the next tick, and the controllers report its effect.
			_, _ = p.listener.SweepInstances(ctx, target)
		}
	}
}

// expecting are the targets with terminating instances.
func (p *polled) expecting() []awsapi.Target {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []awsapi.Target
	for _, target := range p.targets {
		if !slices.Contains(found, target) && p.expect != nil && p.expect(p.listener.Place(target)) == awsevents.InstancesTerminating {
			found = append(found, target)
		}
	}
	return found
}
