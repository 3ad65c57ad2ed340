package drain

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// defaultHookTimeout applies if the order lacks the hook's timeout.
	defaultHookTimeout = 5 * time.Minute
	// beatsPerTimeout is the number of heartbeats per hook timeout: two may be lost.
	beatsPerTimeout = 3
	// firstObservation is the time allowed for observing a node and its pods for the first time.
	firstObservation = 30 * time.Second
	// deadPods is how long after its grace period a pod on a NotReady node is waited for, since no
	// kubelet can terminate it. It corresponds to kubectl drain's --skip-wait-for-delete-timeout.
	deadPods = time.Minute
)

// Results of lifecycle actions.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_CompleteLifecycleAction.html
const (
	resultContinue = "CONTINUE"
	resultAbandon  = "ABANDON"
)

// view is the observed state of a drain.
type view struct {
	order Order
	// began is when the drain began: the Node's annotation, else the time of the order.
	began time.Time
	// since is when this process started the drain.
	since time.Time
	// answering reports that the cluster's API responds and EC2 has identified the node, so that
	// node is accurate: nil if the instance has no node.
	answering bool
	node      *nodeView
	// prepared reports that the node is cordoned and annotated.
	prepared bool
	// listed reports that pods, those to evict, are known.
	listed bool
	pods   []podView
	// settles is when load balancers no longer use the node; zero if they do not.
	settles time.Time
	// kept reports that the instance is kept after the timeout.
	kept bool
	// over reports that Auto Scaling no longer waits; terminated that the instance is terminated.
	over, terminated bool
	// beat is the time of the last heartbeat, zero if unknown.
	beat time.Time
	// awsAt and nodeAt are the times of the next call to AWS and of the next change of the Node
	// after a failure.
	awsAt, nodeAt time.Time
}

// nodeView is the relevant state of a node.
type nodeView struct {
	name     string
	ready    bool
	cordoned bool
}

// podView is a pod to evict.
type podView struct {
	key types.NamespacedName
	uid types.UID
	// leaving is the end of the grace period, zero if the pod is not being deleted.
	leaving time.Time
	// tryAt is the time of the next eviction attempt, zero for at once.
	tryAt time.Time
}

// decision is the next step of a drain.
type decision struct {
	state State
	// prepare cordons and annotates the node, cordon only cordons it.
	prepare, cordon bool
	evict           []podView
	// beat sends a heartbeat to Auto Scaling.
	beat bool
	// result completes the lifecycle action; empty if it must not complete yet or there is none.
	result string
	// terminate terminates a kept instance.
	terminate bool
	// again is when to decide again without a change, zero for never.
	again time.Time
	// left is the number of pods that the drain waits for.
	left int
}

// decide returns the next step.
func decide(v *view, now time.Time) decision {
	left := awaited(v, now)
	late := !now.Before(v.lateAt())
	switch {
	case v.terminated:
		return decision{state: Gone}
	case v.order.AtOnce || v.answering && v.node == nil:
		return finish(v, Empty, now, 0)
	case v.order.CordonOnly:
		return cordonOnly(v, now)
	case v.prepared && v.listed && left == 0 && (late || v.over || !now.Before(v.settles)):
		return finish(v, Empty, now, 0)
	case v.over, v.kept && late && !v.abandons():
		return finish(v, TimedOut, now, left)
	case late && !v.kept && v.abandons() && !v.hardDeadline(now):
		return keep(v, now, left)
	case late && !v.kept:
		return finish(v, TimedOut, now, left)
	default:
		return work(v, now, left)
	}
}

// deadline returns the end of the time allowed for the drain.
func (v *view) deadline() time.Time {
	deadline := v.began.Add(v.order.Timeout)
	if hard := v.order.Deadline; !hard.IsZero() && hard.Before(deadline) {
		return hard
	}
	return deadline
}

// lateAt returns when the deadline takes effect. An operator that takes over after it first
// observes whether the node is already empty.
func (v *view) lateAt() time.Time {
	at := v.deadline()
	if looked := v.since.Add(firstObservation); !v.listed && looked.After(at) {
		return looked
	}
	return at
}

// hardDeadline reports whether the order's own deadline has passed: the instance is released
// whatever the policy.
func (v *view) hardDeadline(now time.Time) bool {
	return !v.order.Deadline.IsZero() && !now.Before(v.order.Deadline)
}

func (v *view) abandons() bool { return v.order.Policy == Abandon }

// held reports whether a lifecycle action waits.
func (v *view) held() bool { return v.order.Hook != "" && !v.kept && !v.over }

// awaited counts the pods to evict that can still terminate.
func awaited(v *view, now time.Time) int {
	left := 0
	for i := range v.pods {
		if !v.lost(&v.pods[i], now) {
			left++
		}
	}
	return left
}

// lost reports whether no kubelet is left to terminate a deleted pod.
func (v *view) lost(pod *podView, now time.Time) bool {
	return v.node != nil && !v.node.ready && !pod.leaving.IsZero() && now.After(pod.leaving.Add(deadPods))
}

// finish releases the instance.
func finish(v *view, state State, now time.Time, left int) decision {
	d := decision{state: state, left: left}
	switch {
	case v.order.Hook == "" || v.over:
		return d
	case now.Before(v.awsAt):
		d.state, d.again = Draining, v.awsAt
		if v.kept {
			d.state = Kept
		}
	case v.kept:
		d.terminate = true
	default:
		d.result = resultContinue
	}
	return d
}

// keep makes Auto Scaling keep the instance.
func keep(v *view, now time.Time, left int) decision {
	d := decision{state: Kept, left: left}
	switch {
	case !v.held():
	case now.Before(v.awsAt):
		d.state, d.again = Draining, v.awsAt
	default:
		d.result = resultAbandon
	}
	return d
}

func cordonOnly(v *view, now time.Time) decision {
	switch {
	case v.node == nil || !v.answering:
		return decision{state: Draining}
	case v.node.cordoned || v.prepared:
		return decision{state: Cordoned}
	case now.Before(v.nodeAt):
		return decision{state: Draining, again: v.nodeAt}
	default:
		return decision{state: Draining, cordon: true}
	}
}

// work evicts pods, waits until load balancers no longer use the node, and extends the lifecycle
// action.
func work(v *view, now time.Time, left int) decision {
	d := decision{state: Draining, left: left}
	if v.kept {
		d.state = Kept
	}
	if !v.kept || !v.abandons() {
		d.until(v.lateAt())
	}
	if v.held() {
		due := now
		if !v.beat.IsZero() {
			due = v.beat.Add(v.hookTimeout() / beatsPerTimeout)
		}
		if due.Before(v.awsAt) {
			due = v.awsAt
		}
		d.beat = !now.Before(due)
		d.until(due)
	}
	if v.node == nil || !v.answering {
		return d
	}
	if !v.prepared {
		d.prepare = !now.Before(v.nodeAt)
		d.until(v.nodeAt)
		return d
	}
	if left == 0 && now.Before(v.settles) {
		d.until(v.settles)
	}
	if !v.listed && now.Before(v.nodeAt) {
		d.until(v.nodeAt)
	}
	d.workOnPods(v, now)
	return d
}

// workOnPods decides which pods to evict now.
func (d *decision) workOnPods(v *view, now time.Time) {
	for i := range v.pods {
		pod := &v.pods[i]
		switch {
		case !pod.leaving.IsZero():
			if !v.node.ready && !v.lost(pod, now) {
				d.until(pod.leaving.Add(deadPods + time.Second))
			}
		case now.Before(pod.tryAt):
			d.until(pod.tryAt)
		default:
			d.evict = append(d.evict, *pod)
		}
	}
}

// until sets the next decision to no later than a time.
func (d *decision) until(at time.Time) {
	if d.again.IsZero() || at.Before(d.again) {
		d.again = at
	}
}

func (v *view) hookTimeout() time.Duration {
	if v.order.HookTimeout > 0 {
		return v.order.HookTimeout
	}
	return defaultHookTimeout
}

const (
	// soonest and latest bound the interval between attempts of a forbidden eviction; latestKept
	// bounds that of a kept instance.
	soonest    = 250 * time.Millisecond
	latest     = 5 * time.Second
	latestKept = 30 * time.Second
	// patience is the divisor of the blocked time that gives the delay before the next attempt.
	patience = 4
)

// retryIn returns the delay before the next attempt of an eviction: a quarter of the time that it
// has been forbidden, so that retries delay a rollout little and cost the API few calls.
func retryIn(blocked time.Duration, kept bool) time.Duration {
	longest := latest
	if kept {
		longest = latestKept
	}
	return min(max(blocked/patience, soonest), longest)
}
