package inprocess

import (
	"context"
	"maps"
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
	targets map[awsapi.Target]bool
	expect  func(awsapi.Target) awsevents.Expectation
}

// Subscribe calls fn for every event.
func (p *polled) Subscribe(fn func(awsevents.Event)) { p.listener.Subscribe(fn) }

// Listen adds an account and region to poll.
func (p *polled) Listen(target awsapi.Target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.targets[target] = true
}

// Retain stops polling the accounts and regions that are not among targets, except the engine's
// own.
func (p *polled) Retain(targets []awsapi.Target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.targets, func(target awsapi.Target, _ bool) bool {
		return target != awsapi.Target{} && !slices.Contains(targets, target)
	})
}

// ExpectInstances polls for instances in targets for which expect reports terminating ones.
func (p *polled) ExpectInstances(expect func(awsapi.Target) awsevents.Expectation) {
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
	for target := range p.targets {
		if p.expect != nil && p.expect(target) == awsevents.InstancesTerminating {
			found = append(found, target)
		}
	}
	return found
}
