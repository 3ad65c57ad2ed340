package drain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/internal/plural"
)

const (
	// callTimeout bounds a call to a workload cluster's API or to AWS.
	callTimeout = 20 * time.Second
	// firstFailure and longestFailure bound the growing delay after a failed call.
	firstFailure   = time.Second
	longestFailure = 30 * time.Second
	// blockedAfter is how long budgets must block evictions before users are notified: a budget
	// that makes pods move one by one is no problem.
	blockedAfter = 15 * time.Second
)

// run executes one order.
type run struct {
	drains *Drains
	nudged chan struct{}

	mu         sync.Mutex
	order      Order
	terminated bool // the instance is terminated
	cancelled  bool
	progress   Progress
	endedAt    time.Time

	// Only the loop uses the following fields.
	view     view
	looked   bool // the Node was read, so began is set
	excluded bool // this operator excluded the node from load balancers
	settled  bool // view.settles is known
	to       *workload.Cluster
	watch    *podWatch
	tries    map[types.UID]*tries
	failures int // consecutive failures of AWS
	problem  string
	// blockedFrom is since when the budgets in reported have blocked evictions.
	blockedFrom time.Time
	reported    string
}

// tries records the eviction attempts of a pod.
type tries struct {
	first     time.Time // first forbidden attempt
	next      time.Time
	blockedBy []string
}

func newRun(d *Drains, order Order, now time.Time) *run {
	r := &run{drains: d, nudged: make(chan struct{}, 1), order: order, tries: map[types.UID]*tries{}}
	r.view = view{began: now.UTC().Truncate(time.Second), since: now, beat: order.Since}
	r.progress = Progress{Order: order, State: Draining, Began: r.view.began}
	r.progress.Deadline = r.view.began.Add(order.Timeout)
	return r
}

// nudge makes the loop decide again.
func (r *run) nudge() {
	select {
	case r.nudged <- struct{}{}:
	default: // A decision is already pending.
	}
}

// take updates the order. It returns false if the run has ended and the drain must start again.
func (r *run) take(order Order) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := &r.order
	if !r.endedAt.IsZero() || r.cancelled {
		// A repeated event of the completed lifecycle action.
		return !r.cancelled && !r.terminated && order.Hook != "" && order.Token != "" && order.Token == was.Token
	}
	order.CordonOnly = order.CordonOnly && was.CordonOnly
	order.AtOnce = order.AtOnce || was.AtOnce
	if order.Hook == "" {
		order.AutoScalingGroup, order.Hook, order.Token, order.Since = was.AutoScalingGroup, was.Hook, was.Token, was.Since
	}
	if order.Token == "" {
		order.Token = was.Token
	}
	if !was.Deadline.IsZero() && (order.Deadline.IsZero() || was.Deadline.Before(order.Deadline)) {
		order.Deadline = was.Deadline
	}
	r.order = order
	r.nudge()
	return true
}

// busy reports whether the instance's target matches and it is terminating; see [Drains.Busy].
func (r *run) busy(matches func(awsapi.Target) bool, since time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return matches(r.order.Target) && !r.terminated && !r.cancelled && (r.endedAt.IsZero() || r.endedAt.After(since))
}

// ended returns when the run ended, zero if it has not.
func (r *run) ended() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.endedAt
}

func (r *run) nowProgress() Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress
}

// concerns reports whether a change concerns the order's node.
func (r *run) concerns(change workload.Change) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.order.Cluster == change.Cluster && (change.Whole || r.order.Group == change.Group)
}

// loop works until nothing is left to do or the context ends. It uncordons the node of a cancelled
// drain even then: no other program would.
func (r *run) loop(ctx context.Context) {
	defer r.unwatch()
	for {
		r.mu.Lock()
		r.view.order, r.view.terminated = r.order, r.terminated
		r.view.kept = r.view.kept || r.order.Retained
		cancelled := r.cancelled
		r.mu.Unlock()
		if cancelled {
			r.reopened(ctx)
			r.end(Cordoned)
			return
		}
		if ctx.Err() != nil {
			return
		}
		r.observeNode(ctx)
		d := decide(&r.view, r.now())
		did := r.apply(ctx, &d)
		if ctx.Err() != nil {
			continue
		}
		if r.report(&d) {
			return
		}
		if !did && !d.state.ended() {
			r.wait(ctx, d.again)
		}
	}
}

func (r *run) now() time.Time { return r.drains.options.Clock.Now() }

// wait waits until a time, if not zero, or until a nudge.
func (r *run) wait(ctx context.Context, until time.Time) {
	if blocked := r.blockedFrom; !blocked.IsZero() && r.reported == "" {
		if tell := blocked.Add(blockedAfter); until.IsZero() || tell.Before(until) {
			until = tell
		}
	}
	var due <-chan time.Time
	if !until.IsZero() {
		timer := r.drains.options.Clock.NewTimer(max(until.Sub(r.now()), time.Millisecond))
		defer timer.Stop()
		due = timer.C()
	}
	select {
	case <-ctx.Done():
	case <-due:
	case <-r.nudged:
	}
}

// observeNode updates the view.
func (r *run) observeNode(ctx context.Context) {
	v := &r.view
	v.answering, v.node, v.listed, v.pods = false, nil, false, nil
	if v.order.AtOnce || v.terminated {
		return
	}
	to := r.drains.options.Workload.Get(v.order.Cluster)
	if to != r.to {
		r.unwatch()
		r.to = to
	}
	if to == nil {
		return
	}
	v.answering, _ = to.Reachable()
	node, ok := to.NodeOf(v.order.Instance)
	if !ok {
		v.answering = v.answering && !to.MayHaveNode(v.order.Instance)
		return
	}
	v.node = &nodeView{name: node.Name, ready: node.Ready, cordoned: node.Unschedulable}
	if v.order.CordonOnly {
		return
	}
	if !r.looked && v.answering {
		r.readNode(ctx, &node)
	}
	r.observePods(ctx)
}

// observePods updates the pods to evict, as far as they are known.
func (r *run) observePods(ctx context.Context) {
	v := &r.view
	if !v.prepared {
		return
	}
	if r.watch == nil {
		watch, err := watchPods(ctx, r.to, v.node.name, r.nudge)
		if err != nil {
			r.problem = fmt.Sprintf("The pods of node %s cannot be watched: %s.", v.node.name, err)
			return
		}
		r.watch = watch
	}
	pods, listed, err := r.watch.podsToEvict(ctx)
	if err != nil {
		r.problem = fmt.Sprintf("The pods of node %s cannot be classified: %s.", v.node.name, err)
	}
	if listed && err == nil {
		if err = r.observeBalancers(ctx); err != nil {
			r.problem = fmt.Sprintf("The load balancers of node %s are unknown: %s.", v.node.name, err)
			r.view.nodeAt = r.now().Add(firstFailure)
		}
	}
	v.listed = listed && err == nil
	for i := range pods {
		pod := podView{key: types.NamespacedName{Namespace: pods[i].Namespace, Name: pods[i].Name}, uid: pods[i].UID}
		if at := pods[i].DeletionTimestamp; at != nil {
			pod.leaving = at.Time
		}
		if tried := r.tries[pod.uid]; tried != nil {
			pod.tryAt = tried.next
		}
		v.pods = append(v.pods, pod)
	}
}

func (r *run) unwatch() {
	if r.watch != nil {
		r.watch.stop()
		r.watch = nil
	}
}

// apply executes a decision and reports whether it did anything, after which another is due.
func (r *run) apply(ctx context.Context, d *decision) bool {
	did := false
	if d.cordon || d.prepare {
		r.prepare(ctx, d.prepare)
		did = true
	}
	if d.beat {
		r.heartbeat(ctx)
		did = true
	}
	if len(d.evict) > 0 {
		r.evict(ctx, d.evict)
		did = true
	}
	var err error
	switch {
	case d.result != "":
		err = r.complete(ctx, d.result)
	case d.terminate:
		if err = r.terminate(ctx); err == nil {
			r.view.kept = false // The hook holds the instance again, and its event may arrive at once.
		}
	}
	switch {
	case err != nil: // The instance's state is unchanged.
		d.state, did = Draining, true
		if r.view.kept {
			d.state = Kept
		}
	case d.state == Kept && !r.view.kept:
		r.view.kept, did = true, true
	}
	return did
}

// failed records a failed call to AWS.
func (r *run) failed(what string, err error) {
	r.failures++
	delay := min(firstFailure<<min(r.failures-1, 8), longestFailure)
	r.view.awsAt = r.now().Add(delay)
	r.problem = fmt.Sprintf("%s: %s", what, err)
	r.drains.options.Logger.Info("A drain is blocked; retrying", "instance", r.view.order.Instance, "problem", r.problem)
}

// report publishes the progress and notifies users. It returns whether nothing is left to do: an
// order that changed in the meantime is reconsidered first.
func (r *run) report(d *decision) bool {
	now := r.now()
	v := &r.view
	budgets := r.budgets()
	if d.state != Draining && d.state != Kept {
		budgets = nil
	}
	r.mu.Lock()
	if d.state.ended() && (r.order != v.order || r.terminated != v.terminated || r.cancelled) {
		r.mu.Unlock()
		return false
	}
	before := r.progress
	p := Progress{
		Order:     v.order,
		Node:      before.Node,
		State:     d.state,
		Began:     v.began,
		Deadline:  v.deadline(),
		Pods:      d.left,
		BlockedBy: budgets,
	}
	if v.node != nil {
		p.Node = v.node.name
	}
	p.Message = r.message(&p)
	r.progress = p
	if p.Ended() && r.endedAt.IsZero() {
		r.endedAt = now
	}
	r.mu.Unlock()
	if p.State != before.State || p.Node != before.Node || p.Pods != before.Pods || !p.Deadline.Equal(before.Deadline) ||
		!slices.Equal(p.BlockedBy, before.BlockedBy) {
		r.drains.publish(p)
	}
	if p.State != before.State {
		r.notifyState(&p)
	}
	if p.Node != "" && before.Node == "" && !p.Ended() && !v.order.CordonOnly {
		r.drains.tell(Notice{Progress: p, What: "Draining"})
	}
	r.notifyBlocked(&p, now)
	return p.Ended()
}

// end records a final state.
func (r *run) end(state State) {
	r.mu.Lock()
	r.progress.State, r.progress.BlockedBy, r.endedAt = state, nil, r.now()
	p := r.progress
	r.mu.Unlock()
	r.drains.publish(p)
}

func (r *run) notifyState(p *Progress) {
	switch p.State {
	case Empty:
		if p.Node != "" && !p.AtOnce {
			r.drains.tell(Notice{Progress: *p, What: "Drained"})
		}
	case TimedOut:
		r.drains.tell(Notice{Progress: *p, What: "DrainTimedOut", Warning: true})
	case Kept:
		r.drains.tell(Notice{Progress: *p, What: "MachineKept", Warning: true})
	case Draining, Cordoned, Gone:
	}
}

// notifyBlocked notifies users about budgets that have blocked evictions for a while.
func (r *run) notifyBlocked(p *Progress, now time.Time) {
	budgets := strings.Join(p.BlockedBy, ", ")
	switch {
	case budgets == "":
		r.blockedFrom, r.reported = time.Time{}, ""
	case r.blockedFrom.IsZero():
		r.blockedFrom = now
	case r.reported == budgets || now.Before(r.blockedFrom.Add(blockedAfter)):
	default:
		r.reported = budgets
		r.drains.tell(Notice{Progress: *p, What: "DrainBlocked", Warning: true})
	}
}

// budgets returns the PodDisruptionBudgets that block evictions, sorted.
func (r *run) budgets() []string {
	var all []string
	for i := range r.view.pods {
		if tried := r.tries[r.view.pods[i].uid]; tried != nil && r.view.pods[i].leaving.IsZero() {
			all = append(all, tried.blockedBy...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// message describes the progress of a drain.
func (r *run) message(p *Progress) string {
	node := "Node " + p.Node + " of instance " + p.Instance
	if p.Node == "" {
		node = "Instance " + p.Instance
	}
	blocked := ""
	if len(p.BlockedBy) > 0 {
		blocked = ", blocked by PodDisruptionBudget " + strings.Join(p.BlockedBy, ", ")
	}
	problem := r.problem
	if problem != "" {
		problem = " " + problem
	}
	switch p.State {
	case Empty:
		return node + " is empty."
	case Cordoned:
		return node + " is cordoned."
	case Gone:
		return node + " is terminated."
	case TimedOut:
		return fmt.Sprintf("%s was not drained in time and is terminated with %s%s.", node, plural.Count(p.Pods, "pod"), blocked)
	case Kept:
		return fmt.Sprintf("%s was not drained in time and is kept: %s left%s.%s", node, plural.Count(p.Pods, "pod"), blocked, problem)
	case Draining:
	}
	switch {
	case !r.view.answering:
		return node + " cannot be drained because the cluster's API does not respond." + problem
	case !r.view.listed:
		return node + " is being drained." + problem
	case p.Pods == 0 && r.now().Before(r.view.settles):
		return fmt.Sprintf("%s is empty and waits until %s, when load balancers no longer use it.%s",
			node, r.view.settles.UTC().Format(time.TimeOnly+" MST"), problem)
	default:
		return fmt.Sprintf("%s is being drained: %s left%s.%s", node, plural.Count(p.Pods, "pod"), blocked, problem)
	}
}
