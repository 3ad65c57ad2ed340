package awsevents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
)

// Clients provides the listener's AWS clients; *awsapi.Clients implements it.
type Clients interface {
	SQS(t awsapi.Target) awsapi.SQS
	AutoScaling(t awsapi.Target) awsapi.AutoScaling
}

// Engine is the part of the stack engine that the listener needs: it creates the listener's own
// stack, and receives the events.
type Engine interface {
	Ensure(ctx context.Context, target awsapi.Target, desired stack.Desired, record stack.Record) (stack.Result, error)
	Sweep(ctx context.Context, target awsapi.Target) ([]stack.Event, error)
	Observe(event stack.Event)
	Forget(target awsapi.Target)
}

// Options configure a Listener; Clients and Engine are required.
type Options struct {
	Clients Clients
	Engine  Engine
	// Clock defaults to the real clock.
	Clock clock.Clock
	// Logger defaults to a logger that discards.
	Logger logr.Logger
	// Registerer receives the listener's metrics; nil registers none.
	Registerer prometheus.Registerer
	// ClusterName is the operator's cluster name; see the package documentation.
	ClusterName string
	// Targets are the accounts and regions of the queues; the default is the operator's own.
	Targets []awsapi.Target
	// SweepInterval is the time between sweeps; default 10 minutes.
	SweepInterval time.Duration
	// Workers is the number of concurrent long polls for each target; default 1, which handles
	// about 200 events a second.
	Workers int
}

const (
	defaultSweepInterval = 10 * time.Minute
	defaultWorkers       = 1
	// firstSweep is how long the first sweep waits for the queue.
	firstSweep = 15 * time.Second
)

// Listener receives events and sweeps. It is a manager.Runnable.
type Listener struct {
	options Options
	log     logr.Logger
	metrics *metrics
	seen    *recentIDs

	mu          sync.RWMutex
	subscribers []func(Event)
	targets     map[awsapi.Target]context.CancelFunc // nil while the target has no goroutines
	expect      func(awsapi.Target) Expectation      // see ExpectInstances
	launch      func(awsapi.Target)                  // nil while the listener does not run
	group       sync.WaitGroup
	broken      error // why Start must fail
}

// New returns a listener that is idle until it is started.
func New(options Options) *Listener {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Logger.GetSink() == nil {
		options.Logger = logr.Discard()
	}
	if len(options.Targets) == 0 {
		options.Targets = []awsapi.Target{{}}
	}
	if options.SweepInterval == 0 {
		options.SweepInterval = defaultSweepInterval
	}
	if options.Workers == 0 {
		options.Workers = defaultWorkers
	}
	l := &Listener{options: options, log: options.Logger, seen: newRecentIDs(), targets: map[awsapi.Target]context.CancelFunc{}}
	l.metrics, l.broken = newMetrics(options.Registerer)
	if options.Clients == nil || options.Engine == nil {
		l.broken = errors.New("a listener needs clients and an engine")
	}
	for _, target := range options.Targets {
		l.targets[target] = nil
	}
	return l
}

// Subscribe registers fn for every event. fn must return quickly and be safe for concurrent use.
func (l *Listener) Subscribe(fn func(Event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subscribers = append(l.subscribers, fn)
}

// Start receives events and sweeps until the context ends. It returns an error if a required option
// is missing or its metrics could not be registered.
func (l *Listener) Start(ctx context.Context) error {
	if l.broken != nil {
		return l.broken
	}
	l.mu.Lock()
	l.launch = func(target awsapi.Target) {
		ctx, stop := context.WithCancel(ctx)
		l.targets[target] = stop
		listening := make(chan struct{}, 1)
		l.group.Go(func() {
			var work sync.WaitGroup
			work.Go(func() { l.sweepForever(ctx, target, listening) })
			work.Go(func() { l.sweepInstancesForever(ctx, target) })
			work.Go(func() { l.receiveForever(ctx, target, listening) })
			work.Wait()
			l.forget(target)
		})
	}
	for target := range l.targets {
		l.launch(target)
	}
	l.mu.Unlock()
	<-ctx.Done()
	l.mu.Lock()
	l.launch = nil
	l.mu.Unlock()
	l.group.Wait()
	return nil
}

// Listen adds an account and region, also while the listener runs. Adding one again has no effect.
func (l *Listener) Listen(target awsapi.Target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.targets[target]; known {
		return
	}
	l.targets[target] = nil
	if l.launch != nil {
		l.launch(target)
	}
}

// Retain stops listening to the accounts and regions that Listen added and that are not among
// targets. The queue there is kept, and retains events for an hour.
func (l *Listener) Retain(targets []awsapi.Target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for target, stop := range l.targets {
		if slices.Contains(l.options.Targets, target) || slices.Contains(targets, target) {
			continue
		}
		if stop != nil {
			stop()
		}
		delete(l.targets, target)
	}
}

// forget drops what the engine caches for an account and region that is not listened to any more.
func (l *Listener) forget(target awsapi.Target) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, listened := l.targets[target]; !listened { // Otherwise it was added again, or the process ends.
		l.options.Engine.Forget(target)
	}
}

// sweepForever sweeps as soon as the queue receives events, so that no change is missed, or a
// little later without it. Then it sweeps at intervals, and when the queue was re-created.
func (l *Listener) sweepForever(ctx context.Context, target awsapi.Target, listening <-chan struct{}) {
	after := firstSweep
	for l.pause(ctx, after, listening) == nil {
		after = l.options.SweepInterval
		_, instancesErr := l.SweepInstances(ctx, target)
		if err := errors.Join(l.Sweep(ctx, target), instancesErr); err != nil && ctx.Err() == nil {
			l.log.Info("The sweep failed; retrying in a minute", "target", target.String(), "reason", err.Error())
			after = min(after, time.Minute)
		}
	}
}

// Sweep compares all stacks of a target with the engine's records and publishes every difference,
// including deleted stacks.
func (l *Listener) Sweep(ctx context.Context, target awsapi.Target) error {
	found, err := l.options.Engine.Sweep(ctx, target)
	if err != nil {
		l.metrics.sweeps.WithLabelValues("failed").Inc()
		return fmt.Errorf("sweep %s: %w", target, err)
	}
	l.metrics.sweeps.WithLabelValues("done").Inc()
	l.metrics.missed.Add(float64(len(found)))
	for _, one := range found {
		l.publish(swept(one, l.options.Clock.Now()))
	}
	return nil
}

// publish passes an event to the subscribers.
func (l *Listener) publish(event Event) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, subscriber := range l.subscribers {
		subscriber(event)
	}
}

// pause waits for the duration or until early receives, or returns the context's error. A nil
// channel never receives.
func (l *Listener) pause(ctx context.Context, duration time.Duration, early <-chan struct{}) error {
	timer := l.options.Clock.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C():
		return nil
	case <-early:
		return nil
	}
}

// shorten truncates a name that is too long, and appends a hash of the whole so that it stays
// unique.
func shorten(name string, length int) string {
	if len(name) <= length {
		return name
	}
	const hashed = 8
	sum := sha256.Sum256([]byte(name))
	return name[:length-hashed-1] + "-" + hex.EncodeToString(sum[:])[:hashed]
}
