package drain

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// Clients gives the drains their AWS clients; *awsapi.Clients does.
type Clients interface {
	AutoScaling(t awsapi.Target) awsapi.AutoScaling
}

// Options configure Drains; Clients and Workload are required.
type Options struct {
	Clients Clients
	// Workload holds the connections to the workload clusters.
	Workload *workload.Clusters
	// Clock defaults to the real one.
	Clock clock.Clock
	// Logger defaults to silence.
	Logger logr.Logger
	// Tell, if not nil, is told what people should hear, for example as Kubernetes Events. It must return quickly.
	Tell func(Notice)
}

// remembered is for how long what has ended is known.
const remembered = time.Hour

// Drains empties nodes. It is a manager's Runnable, and safe for use by many goroutines.
type Drains struct {
	options Options

	mu          sync.Mutex
	runs        map[string]*run // by instance
	subscribers []func(Progress)
	ctx         context.Context //nolint:containedctx // of Start, for what begins later; nil while not started
	group       sync.WaitGroup
}

// New returns Drains that keep orders, but work at none of them until they are started.
func New(options Options) *Drains {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Logger.GetSink() == nil {
		options.Logger = logr.Discard()
	}
	d := &Drains{options: options, runs: map[string]*run{}}
	options.Workload.Subscribe(d.observe)
	return d
}

// Start works at the orders until the context ends.
func (d *Drains) Start(ctx context.Context) error {
	d.mu.Lock()
	d.ctx = ctx
	for _, r := range d.runs {
		d.launch(ctx, r)
	}
	d.mu.Unlock()
	<-ctx.Done()
	d.mu.Lock()
	d.ctx = nil
	d.mu.Unlock()
	d.group.Wait()
	return nil
}

// NeedLeaderElection says that only the leader empties nodes.
func (d *Drains) NeedLeaderElection() bool { return true }

// launch begins the work at an order, if there is work done at all: nil is no context. The caller holds the lock.
func (d *Drains) launch(ctx context.Context, r *run) {
	if ctx != nil {
		d.group.Go(func() { r.loop(ctx) })
	}
}

// Begin begins to empty a node. An order for an instance that is known already changes what that order says, but not when it began: a
// lifecycle action that it lacked is completed, and of two deadlines the earlier holds.
func (d *Drains) Begin(order Order) {
	if order.Policy == "" {
		order.Policy = Continue
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget()
	known := d.runs[order.Instance]
	if known != nil && known.take(order) {
		return
	}
	r := newRun(d, order, d.options.Clock.Now())
	d.runs[order.Instance] = r
	d.launch(d.ctx, r)
}

// forget drops what ended long ago. The caller holds the lock.
func (d *Drains) forget() {
	before := d.options.Clock.Now().Add(-remembered)
	for instance, r := range d.runs {
		if at := r.ended(); !at.IsZero() && at.Before(before) {
			delete(d.runs, instance)
		}
	}
}

// Cancel ends work at an instance, whose machine stays after all. Its node is open for pods again, also if it was empty already.
func (d *Drains) Cancel(instance string) {
	d.mu.Lock()
	if known := d.runs[instance]; known != nil && !known.ended().IsZero() {
		r := newRun(d, known.nowProgress().Order, d.options.Clock.Now())
		r.cancelled = true
		d.runs[instance] = r
		d.launch(d.ctx, r)
	}
	d.mu.Unlock()
	d.change(instance, func(r *run) { r.cancelled = true })
}

// Gone ends work at an instance that has ended.
func (d *Drains) Gone(instance string) {
	d.change(instance, func(r *run) { r.gone = true })
}

// change changes a drain that has not ended.
func (d *Drains) change(instance string, how func(*run)) {
	d.mu.Lock()
	r := d.runs[instance]
	d.mu.Unlock()
	if r == nil {
		return
	}
	r.mu.Lock()
	how(r)
	r.mu.Unlock()
	r.nudge()
}

// Get returns how far the drain of an instance is; false if there is none. What has ended is known for an hour more.
func (d *Drains) Get(instance string) (Progress, bool) {
	d.mu.Lock()
	r := d.runs[instance]
	d.mu.Unlock()
	if r == nil {
		return Progress{}, false
	}
	return r.nowProgress(), true
}

// Of returns the drains of a cluster's instance group that have not ended, by node; of its slots if group is empty.
func (d *Drains) Of(cluster types.NamespacedName, group string) []Progress {
	return d.that(func(p *Progress) bool { return p.Cluster == cluster && p.Group == group })
}

// settling is for how long after the end of a drain its machine is expected to go.
const settling = 10 * time.Minute

// Busy reports whether nodes of a target's machines are being emptied, or were until lately and their machines are still there: what
// Auto Scaling says of them may be lost.
func (d *Drains) Busy(target awsapi.Target) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	since := d.options.Clock.Now().Add(-settling)
	for _, r := range d.runs {
		if r.busy(target, since) {
			return true
		}
	}
	return false
}

// that returns the drains that have not ended and are wanted, by node.
func (d *Drains) that(wanted func(*Progress) bool) []Progress {
	d.mu.Lock()
	runs := slices.Collect(maps.Values(d.runs))
	d.mu.Unlock()
	var all []Progress
	for _, r := range runs {
		if p := r.nowProgress(); !p.Ended() && wanted(&p) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Progress) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Instance, b.Instance))
	})
	return all
}

// Subscribe has fn called with every change of a drain. It must return quickly and may be called by several goroutines at once.
func (d *Drains) Subscribe(fn func(Progress)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.subscribers = append(d.subscribers, fn)
}

func (d *Drains) publish(p Progress) {
	d.mu.Lock()
	subscribers := d.subscribers
	d.mu.Unlock()
	for _, subscriber := range subscribers {
		subscriber(p)
	}
}

func (d *Drains) tell(n Notice) {
	if d.options.Tell != nil {
		d.options.Tell(n)
	}
}

// observe has the drains of a cluster look again of which there is news.
func (d *Drains) observe(change workload.Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.runs {
		if r.concerns(change) {
			r.nudge()
		}
	}
}
