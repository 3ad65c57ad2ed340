package awsevents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Clients provides the listener's AWS clients; *awsapi.Clients implements it.
type Clients interface {
	Region(t awsapi.Target) string
	SQS(t awsapi.Target) awsapi.SQS
	AutoScaling(t awsapi.Target) awsapi.AutoScaling
	// Forget drops what is cached for a target without users.
	Forget(t awsapi.Target)
}

// Engine is the part of the stack engine that the listener needs: it creates the listener's own
// stack, and receives the events.
type Engine interface {
	Ensure(ctx context.Context, target awsapi.Target, desired stack.Desired, record stack.Record) (stack.Result, error)
	Sweep(ctx context.Context, target awsapi.Target) ([]stack.Event, error)
	Observe(event stack.Event)
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
	// Shard is the part of the operator's objects to which the listener's subscribers belong; the zero value is all.
	Shard operatorkit.Shard
	// AccountID is the account of the operator's own credentials; empty if unknown.
	AccountID string
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
	places      map[awsapi.Place]*listening
	used        map[string]awsapi.Target       // by user, see Use
	uses        map[awsapi.Target]int          // the number of users
	expect      func(awsapi.Place) Expectation // see ExpectInstances
	launch      func(awsapi.Place, *listening) // nil while the listener does not run
	group       sync.WaitGroup
	broken      error // why Start must fail
}

// listening is an account and region to listen to.
type listening struct {
	// target has the credentials, and users those who asked for events.
	target awsapi.Target
	users  map[string]bool
	// stop ends the goroutines; nil while there are none.
	stop context.CancelFunc
}

// New returns a listener of the operator's own account and region that is idle until it is started.
func New(options Options) *Listener {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Logger.GetSink() == nil {
		options.Logger = logr.Discard()
	}
	if options.SweepInterval == 0 {
		options.SweepInterval = defaultSweepInterval
	}
	if options.Workers == 0 {
		options.Workers = defaultWorkers
	}
	l := &Listener{
		options: options, log: options.Logger, seen: newRecentIDs(),
		places: map[awsapi.Place]*listening{}, used: map[string]awsapi.Target{}, uses: map[awsapi.Target]int{},
	}
	l.metrics, l.broken = newMetrics(options.Registerer)
	if options.Clients == nil || options.Engine == nil {
		l.broken = errors.New("a listener needs clients and an engine")
		return l
	}
	l.places[l.Place(awsapi.Target{})] = &listening{}
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
	l.launch = func(at awsapi.Place, one *listening) {
		ctx, stop := context.WithCancel(ctx)
		target := one.target
		one.stop = stop
		receiving := make(chan struct{}, 1)
		l.group.Go(func() {
			var work sync.WaitGroup
			work.Go(func() { l.sweepForever(ctx, target, receiving) })
			work.Go(func() { l.sweepInstancesForever(ctx, at, target) })
			work.Go(func() { l.receiveForever(ctx, target, receiving) })
			work.Wait()
			l.mu.Lock()
			defer l.mu.Unlock()
			l.forget(target)
		})
	}
	for at, one := range l.places {
		l.launch(at, one)
	}
	l.mu.Unlock()
	<-ctx.Done()
	l.mu.Lock()
	l.launch = nil
	l.mu.Unlock()
	l.group.Wait()
	return nil
}

// Use listens to a target's account and region until Release, also while the listener runs. The user
// is any name; another target of the same user replaces the first. Users of one account and region
// share one queue, for which the credentials of one of them serve.
func (l *Listener) Use(user string, target awsapi.Target) {
	l.mu.RLock()
	known, used := l.used[user]
	l.mu.RUnlock()
	if used && known == target {
		return
	}
	at := l.Place(target)
	l.mu.Lock()
	defer l.mu.Unlock()
	if used {
		l.release(user)
	}
	l.used[user] = target
	l.uses[target]++
	one, listens := l.places[at]
	if !listens {
		one = &listening{target: target}
		l.places[at] = one
		if l.launch != nil {
			l.launch(at, one)
		}
	}
	if one.users == nil {
		one.users = map[string]bool{}
	}
	one.users[user] = true
}

// Release ends what Use began. The queue of an account and region without users is kept, and
// retains events for an hour.
func (l *Listener) Release(user string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release(user)
}

// release is Release. The caller holds the lock.
func (l *Listener) release(user string) {
	target, used := l.used[user]
	if !used {
		return
	}
	delete(l.used, user)
	if l.uses[target]--; l.uses[target] == 0 {
		delete(l.uses, target)
	}
	at := l.Place(target)
	one := l.places[at]
	delete(one.users, user)
	l.renew(at, one)
	l.forget(target)
}

// forget drops the clients of a target without users, to which no goroutine listens. The caller
// holds the lock.
func (l *Listener) forget(target awsapi.Target) {
	if one := l.places[l.Place(target)]; l.uses[target] == 0 && (one == nil || one.target != target) {
		l.options.Clients.Forget(target)
	}
}

// renew stops listening to a place without users, and replaces credentials that no user has any
// more. The caller holds the lock.
func (l *Listener) renew(at awsapi.Place, one *listening) {
	if at == l.Place(awsapi.Target{}) || l.uses[one.target] > 0 {
		return
	}
	if one.stop != nil {
		one.stop()
	}
	delete(l.places, at)
	if len(one.users) == 0 {
		return
	}
	next := slices.Min(slices.Collect(maps.Keys(one.users)))
	l.places[at] = &listening{target: l.used[next], users: one.users}
	if l.launch != nil {
		l.launch(at, l.places[at])
	}
}

// Place returns the account and region of a target.
func (l *Listener) Place(target awsapi.Target) awsapi.Place {
	return target.Place(awsapi.Place{Account: l.options.AccountID, Region: l.options.Clients.Region(target)})
}

// sweepForever sweeps as soon as the queue receives events, so that no change is missed, or a
// little later without it. Then it sweeps at intervals, and when the queue was re-created.
func (l *Listener) sweepForever(ctx context.Context, target awsapi.Target, receiving <-chan struct{}) {
	after := firstSweep
	for l.pause(ctx, after, receiving) == nil {
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
