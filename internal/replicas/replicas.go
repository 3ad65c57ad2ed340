package replicas

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Defaults of the times. A replica that dies is noticed after LeaseDuration, and a retry later another replica acquires
// the Leases of its shards. A replica that is cut off ends its calls to AWS at RenewDeadline.
const (
	DefaultLeaseDuration = 9 * time.Second
	DefaultRenewDeadline = 7 * time.Second
	DefaultRetryPeriod   = time.Second
)

// ending is how long the work for a shard may take to end when its Lease is lost: to write statuses to an API server that is
// slow. See the package documentation for why such a write does no harm.
const ending = 20 * time.Second

// Options configure a replica. All without a default are required.
type Options struct {
	// Client reads and writes Leases in Namespace.
	Client    coordinationv1client.LeasesGetter
	Namespace string
	// Name is the operator's, with which the names of its Leases begin. A Lease of this name is that of a single leader.
	Name string
	// Identity is unique among the replicas: lower-case letters, digits and dashes.
	Identity string
	// Shards is the number of shards.
	Shards int
	// Serve serves a shard until the context ends. It has no effect in AWS after that, and returns when all its work has ended.
	Serve func(ctx context.Context, shard operatorkit.Shard) error
	// Uses returns how many of the shards that are served use each thing that the replicas share, such as the call budget of
	// an account. Share receives how many shards of all replicas use each. Both may be nil.
	Uses  func() map[string]int
	Share func(uses map[string]int)
	// Logger logs which shards the replica serves.
	Logger logr.Logger
	// LeaseDuration is how long a Lease lasts, RenewDeadline how long the holder tries to renew it, and RetryPeriod the
	// time between two tries, and between two reads of the Leases of all. Default: those above.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

func (o *Options) setDefaults() {
	if o.LeaseDuration == 0 {
		o.LeaseDuration = DefaultLeaseDuration
	}
	if o.RenewDeadline == 0 {
		o.RenewDeadline = DefaultRenewDeadline
	}
	if o.RetryPeriod == 0 {
		o.RetryPeriod = DefaultRetryPeriod
	}
}

// label is the operator's name as the value of a label, which is limited to 63 characters.
func (o *Options) label() string {
	const most = 63
	if len(o.Name) <= most {
		return o.Name
	}
	sum := sha256.Sum256([]byte(o.Name))
	return hex.EncodeToString(sum[:16])
}

// Replica serves the shards that are its own.
type Replica struct {
	options Options
	clock   clock.Clock
	fail    context.CancelCauseFunc

	joined atomic.Bool
	// since is when this replica said that it uses a thing.
	since map[string]time.Time

	mu     sync.Mutex
	wanted []bool
	// leave ends serving a shard; nil if the replica does not serve it.
	leave []context.CancelFunc
}

// New returns a replica that serves nothing yet.
func New(options Options) *Replica {
	options.setDefaults()
	return &Replica{
		options: options, clock: clock.RealClock{}, // client-go's leader election has no other
		since: map[string]time.Time{}, wanted: make([]bool, options.Shards), leave: make([]context.CancelFunc, options.Shards),
	}
}

// Joined reports whether the replica knows the others.
func (r *Replica) Joined() bool { return r.joined.Load() }

// Run serves until the context ends, and then gives up all shards. It returns an error if a shard ended although it was
// wanted, or did not end when its Lease was lost: the process must end then.
func (r *Replica) Run(process context.Context) error {
	ctx, fail := context.WithCancelCause(process)
	r.fail = fail
	defer fail(nil)
	var holding sync.WaitGroup
	for shard := range r.options.Shards {
		holding.Go(func() {
			for ctx.Err() == nil {
				if err := r.hold(ctx, shard); err != nil {
					r.fail(err)
				}
			}
		})
	}
	r.divideForever(ctx)
	holding.Wait()
	// The error of a shard may be that of a call that was canceled.
	if err := context.Cause(ctx); process.Err() == nil || !errors.Is(err, context.Canceled) {
		return err //nolint:wrapcheck // a cause of this package
	}
	return nil
}

// divideForever renews the replica's Lease and decides which shards are its own, until the context ends.
func (r *Replica) divideForever(ctx context.Context) {
	own, others := &presence{options: &r.options}, &observer{options: &r.options, clock: r.clock, seen: map[string]sighting{}}
	tick := time.NewTicker(r.options.RetryPeriod)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := r.divide(ctx, own, others); err != nil && ctx.Err() == nil {
			r.options.Logger.Info("The division of the shards stays as it is", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	r.want(nil)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.options.RenewDeadline)
	defer cancel()
	if err := own.end(end); err != nil {
		r.options.Logger.Info("The Lease of this replica stays until it runs out", "reason", err.Error())
	}
}

// divide decides once.
func (r *Replica) divide(ctx context.Context, own *presence, others *observer) error {
	ctx, cancel := context.WithTimeout(ctx, r.options.RenewDeadline)
	defer cancel()
	var uses map[string]int
	if r.options.Uses != nil {
		uses = r.options.Uses()
	}
	if err := own.renew(ctx, r.clock.Now(), uses); err != nil {
		return err
	}
	all, err := others.look(ctx)
	if err != nil {
		return err
	}
	r.joined.Store(true)
	r.share(uses, all.uses)
	if all.other != "" {
		r.options.Logger.Info("Waiting for an operator that divides the objects otherwise", "holder", all.other)
		r.want(nil)
		return nil
	}
	r.want(divide(all.replicas, all.holders))
	return nil
}

// share tells how many shards use each thing. A thing that this replica has used only for a moment counts as used by all
// shards, until the others know about it.
func (r *Replica) share(uses, ofAll map[string]int) {
	if r.options.Share == nil {
		return
	}
	for thing := range r.since {
		if uses[thing] == 0 {
			delete(r.since, thing)
		}
	}
	for thing := range uses {
		since, known := r.since[thing]
		if !known {
			since = r.clock.Now()
			r.since[thing] = since
		}
		if r.clock.Since(since) < 3*r.options.RetryPeriod {
			ofAll[thing] = r.options.Shards
		}
	}
	r.options.Share(ofAll)
}

// want replaces the owners of the shards, and ends serving those that are not the replica's own any more. Nil is none.
func (r *Replica) want(owners []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for shard := range r.wanted {
		r.wanted[shard] = owners != nil && owners[shard] == r.options.Identity
		if leave := r.leave[shard]; leave != nil && !r.wanted[shard] {
			leave()
		}
	}
}

// errNotOurs is why a replica does not acquire a Lease.
var errNotOurs = errors.New("it is another replica's turn")

// turn returns an error unless a shard is the replica's own.
func (r *Replica) turn(shard int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.wanted[shard] {
		return errNotOurs
	}
	return nil
}

// errStuck means that a shard is still served although its Lease is lost.
var errStuck = errors.New("the work for a shard whose Lease was lost did not end in time")

// hold waits for a shard's Lease, serves the shard while it is held, and releases it. It returns without holding the Lease
// when the context ends.
func (r *Replica) hold(ctx context.Context, shard int) error {
	lock := &gate{Interface: r.options.shardLock(shard), open: func(context.Context) error { return r.turn(shard) }}
	// The Lease is renewed until the shard's work has ended, so its context is not the process's.
	electing, stop := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logr.Discard()))
	defer stop()
	served := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: r.options.shardLease(shard), // in the metric leader_election_master_status
		Lock: lock, LeaseDuration: r.options.LeaseDuration, RenewDeadline: r.options.RenewDeadline, RetryPeriod: r.options.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) { served <- r.serve(leading, shard); stop() },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("elect the replica that serves shard %d: %w", shard, err)
	}
	defer context.AfterFunc(ctx, func() {
		if !lock.held.Load() {
			stop()
		}
	})()
	elector.Run(electing)
	if !lock.held.Load() {
		return nil
	}
	select {
	case err = <-served:
	case <-time.After(ending):
		return fmt.Errorf("shard %d: %w", shard, errStuck)
	}
	if err != nil {
		return err // The work may not have ended. The process ends, and the Lease runs out.
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.options.RenewDeadline)
	defer cancel()
	if err := release(end, lock); err != nil {
		r.options.Logger.Info("The Lease of a shard stays until it runs out", "shard", shard, "reason", err.Error())
	}
	return nil
}

// serve serves a shard until its Lease is lost or the replica gives it up.
func (r *Replica) serve(leading context.Context, shard int) error {
	ctx, leave := context.WithCancel(leading)
	defer leave()
	if !r.begin(shard, leave) {
		return nil
	}
	defer r.end(shard)
	part := operatorkit.Shard{Index: shard, Count: r.options.Shards}
	r.options.Logger.Info("Serving a shard", "shard", part.String())
	err := r.options.Serve(ctx, part)
	r.options.Logger.Info("No longer serving a shard", "shard", part.String())
	switch {
	case err != nil:
		return fmt.Errorf("serve shard %s: %w", part, err)
	case ctx.Err() == nil:
		return fmt.Errorf("serve shard %s: %w", part, errEnded)
	}
	return nil
}

// begin reports whether a shard is still the replica's own, and notes how to leave it.
func (r *Replica) begin(shard int, leave context.CancelFunc) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wanted[shard] {
		r.leave[shard] = leave
	}
	return r.wanted[shard]
}

func (r *Replica) end(shard int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave[shard] = nil
}

// errEnded means that serving a shard ended although it was wanted.
var errEnded = errors.New("it ended, although no one stopped it")
