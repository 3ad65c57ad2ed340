package drain

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// defaultHookTimeout is taken for a hook whose timeout the order does not tell.
	defaultHookTimeout = 5 * time.Minute
	// beatsPerTimeout is how many heartbeats fit the hook's timeout: two may be lost.
	beatsPerTimeout = 3
	// firstLook is how long it may take to learn of a node and its pods.
	firstLook = 30 * time.Second
	// deadPods is how long after the end of its grace a pod of a node that is not ready is waited for: nobody is there to end it. It is
	// what kubectl drain has --skip-wait-for-delete-timeout for.
	deadPods = time.Minute
)

// Results of lifecycle actions.
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_CompleteLifecycleAction.html
const (
	resultContinue = "CONTINUE"
	resultAbandon  = "ABANDON"
)

// view is what is known of a drain.
type view struct {
	order Order
	// began is when it began, as the Node says; when the order came, if it says nothing.
	began time.Time
	// since is when the work at it began in this process.
	since time.Time
	// answering says that the cluster's API answers, and so that node is as it is: nil if the machine has none.
	answering bool
	node      *nodeView
	// prepared says that the node is cordoned and marked.
	prepared bool
	// listed says that pods, those that are to go, are known.
	listed bool
	pods   []podView
	// kept says that the machine is kept: its time is over.
	kept bool
	// over says that Auto Scaling waits no more; gone that the machine has ended.
	over, gone bool
	// beat is when Auto Scaling last heard of the drain; zero if that is not known.
	beat time.Time
	// awsAt and nodeAt are when AWS may be asked, and the Node changed, again after that failed.
	awsAt, nodeAt time.Time
}

// nodeView is what matters of a node.
type nodeView struct {
	name     string
	ready    bool
	cordoned bool
}

// podView is a pod that is to go.
type podView struct {
	key types.NamespacedName
	uid types.UID
	// leaving is when its grace ends; zero if nobody deleted it yet.
	leaving time.Time
	// tryAt is when its eviction is to be tried; zero for at once.
	tryAt time.Time
}

// decision is what to do next.
type decision struct {
	state State
	// prepare cordons and marks the node, cordon only cordons it.
	prepare, cordon bool
	evict           []podView
	// beat tells Auto Scaling that more time is needed.
	beat bool
	// result completes the lifecycle action; empty for not yet, or if there is none.
	result string
	// terminate ends a machine that was kept.
	terminate bool
	// again is when to look again if nothing happens before; zero for never.
	again time.Time
	// left is how many pods are waited for.
	left int
}

// decide says what to do next.
func decide(v *view, now time.Time) decision {
	left := awaited(v, now)
	late := !now.Before(v.lateAt())
	switch {
	case v.gone:
		return decision{state: Gone}
	case v.order.AtOnce || v.answering && v.node == nil:
		return finish(v, Empty, now, 0)
	case v.order.CordonOnly:
		return cordonOnly(v, now)
	case v.prepared && v.listed && left == 0:
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

// deadline is until when emptying may take.
func (v *view) deadline() time.Time {
	deadline := v.began.Add(v.order.Timeout)
	if hard := v.order.Deadline; !hard.IsZero() && hard.Before(deadline) {
		return hard
	}
	return deadline
}

// lateAt is when the deadline decides. An operator that takes over after it looks first whether the node is empty by now.
func (v *view) lateAt() time.Time {
	at := v.deadline()
	if looked := v.since.Add(firstLook); !v.listed && looked.After(at) {
		return looked
	}
	return at
}

// hardDeadline reports whether the order's own deadline is over: the machine goes whatever the policy says.
func (v *view) hardDeadline(now time.Time) bool {
	return !v.order.Deadline.IsZero() && !now.Before(v.order.Deadline)
}

func (v *view) abandons() bool { return v.order.Policy == Abandon }

// held reports whether a lifecycle action waits.
func (v *view) held() bool { return v.order.Hook != "" && !v.kept && !v.over }

// awaited counts the pods that are to go and may still end.
func awaited(v *view, now time.Time) int {
	left := 0
	for i := range v.pods {
		if !v.lost(&v.pods[i], now) {
			left++
		}
	}
	return left
}

// lost reports whether nobody is there to end a pod that was deleted.
func (v *view) lost(pod *podView, now time.Time) bool {
	return v.node != nil && !v.node.ready && !pod.leaving.IsZero() && now.After(pod.leaving.Add(deadPods))
}

// finish lets the machine go.
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

// keep has Auto Scaling keep the machine.
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

// work moves pods, and keeps Auto Scaling waiting.
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
	return d
}

// until has the drain looked at no later than at a time.
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
	// soonest and latest bound the time between tries of an eviction that is forbidden; latestKept that of a machine that is kept.
	soonest    = 250 * time.Millisecond
	latest     = 5 * time.Second
	latestKept = 30 * time.Second
	// patience is the part of the time that a pod has been blocked after which its eviction is tried again.
	patience = 4
)

// retryIn returns after what time an eviction is tried again that has been forbidden for so long: a quarter of that, so that trying
// costs a roll little time and the API few calls.
func retryIn(blocked time.Duration, kept bool) time.Duration {
	longest := latest
	if kept {
		longest = latestKept
	}
	return min(max(blocked/patience, soonest), longest)
}
