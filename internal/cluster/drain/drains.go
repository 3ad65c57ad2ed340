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

// Clients provides the AWS clients. *awsapi.Clients implements it.
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
	// Logger discards messages by default.
	Logger logr.Logger
	// Tell, if not nil, receives notices for users, which can become Kubernetes Events. It must
	// return quickly.
	Tell func(Notice)
}

// remembered is how long ended drains are kept.
const remembered = time.Hour

// Drains drains nodes. It is a manager's Runnable and safe for concurrent use.
type Drains struct {
	options Options

	mu          sync.Mutex
	runs        map[string]*run // by instance
	subscribers []func(Progress)
	ctx         context.Context //nolint:containedctx // Start's context, for later orders; nil before Start
	group       sync.WaitGroup
}

// New returns Drains that accept orders but work on none before Start.
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

// Start works on the orders until the context ends.
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

// NeedLeaderElection reports that only the leader drains nodes.
func (d *Drains) NeedLeaderElection() bool { return true }

// launch starts the work on an order if Drains are started; a nil context means they are not. The
// caller holds the lock.
func (d *Drains) launch(ctx context.Context, r *run) {
	if ctx != nil {
		d.group.Go(func() { r.loop(ctx) })
	}
}

// Begin starts to drain a node. A repeated order for an instance updates the order but not its
// start: a missing lifecycle action is added, and the earlier of two deadlines applies.
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

// forget drops drains that ended long ago. The caller holds the lock.
func (d *Drains) forget() {
	before := d.options.Clock.Now().Add(-remembered)
	for instance, r := range d.runs {
		if at := r.ended(); !at.IsZero() && at.Before(before) {
			delete(d.runs, instance)
		}
	}
}

// Cancel stops the drain of an instance that stays in service. It uncordons the node, even if that
// was already drained.
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

// current reports whether a run is the last one of its instance, which is not terminated.
func (d *Drains) current(r *run) bool {
	d.mu.Lock()
	last := d.runs[r.view.order.Instance] == r
	d.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return last && !r.terminated
}

// Gone ends the drain of a terminated instance.
func (d *Drains) Gone(instance string) {
	d.change(instance, func(r *run) { r.terminated = true })
}

// change modifies a drain that has not ended.
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

// Get returns the progress of an instance's drain, false if there is none. Ended drains are kept
// for an hour.
func (d *Drains) Get(instance string) (Progress, bool) {
	d.mu.Lock()
	r := d.runs[instance]
	d.mu.Unlock()
	if r == nil {
		return Progress{}, false
	}
	return r.nowProgress(), true
}

// Of returns the drains in progress of a cluster's instance group, sorted by node; of its slots if
// group is empty.
func (d *Drains) Of(cluster types.NamespacedName, group string) []Progress {
	return d.that(func(p *Progress) bool { return p.Cluster == cluster && p.Group == group })
}

// settling is how long after its drain an instance may take to terminate.
const settling = 10 * time.Minute

// Busy reports whether nodes of a target that matches are being drained, or were recently and their
// instances still exist. Their events may be lost.
func (d *Drains) Busy(matches func(awsapi.Target) bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	since := d.options.Clock.Now().Add(-settling)
	for _, r := range d.runs {
		if r.busy(matches, since) {
			return true
		}
	}
	return false
}

// that returns the drains in progress that match, sorted by node.
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

// Subscribe calls fn with every change of a drain. It must return quickly and may be called
// concurrently.
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

// observe nudges the drains of a cluster that a change concerns.
func (d *Drains) observe(change workload.Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.runs {
		if r.concerns(change) {
			r.nudge()
		}
	}
}
