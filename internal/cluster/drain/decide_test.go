package drain

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// drained is a node that is being emptied since began, for ten minutes at most, while Auto Scaling
// waits.
func drained(change func(*view)) view {
	v := view{
		order: Order{Instance: "i-1", AutoScalingGroup: "g", Hook: "drain", HookTimeout: 9 * time.Minute, Timeout: 10 * time.Minute},
		began: began, beat: began, answering: true, node: &nodeView{name: "n", ready: true, cordoned: true}, prepared: true, listed: true,
		pods: []podView{{key: types.NamespacedName{Namespace: "a", Name: "b"}, uid: "1"}},
	}
	change(&v)
	return v
}

func TestDecide(t *testing.T) {
	const minute = time.Minute
	cases := map[string]struct {
		view view
		at   time.Duration
		want decision // without evict
		pods int      // to evict
	}{
		"a schedulable node is cordoned before any eviction": {
			view: drained(func(v *view) { v.prepared, v.listed, v.pods = false, false, nil }),
			want: decision{state: Draining, prepare: true, again: time.Time{}},
		},
		"a node that cannot be cordoned is tried again later": {
			view: drained(func(v *view) { v.prepared, v.listed, v.pods, v.nodeAt = false, false, nil, began.Add(time.Second) }),
			want: decision{state: Draining, again: began.Add(time.Second)},
		},
		"pods are evicted": {
			view: drained(func(*view) {}),
			want: decision{state: Draining, left: 1, again: began.Add(3 * minute)},
			pods: 1,
		},
		"a pod that was refused waits for its turn": {
			view: drained(func(v *view) { v.pods[0].tryAt = began.Add(5 * time.Second) }),
			want: decision{state: Draining, left: 1, again: began.Add(5 * time.Second)},
		},
		"a pod that ends is waited for": {
			view: drained(func(v *view) { v.pods[0].leaving = began.Add(minute) }),
			want: decision{state: Draining, left: 1, again: began.Add(3 * minute)},
		},
		"a third of the hook's timeout later, Auto Scaling hears of it": {
			view: drained(func(v *view) { v.pods[0].leaving = began.Add(time.Hour) }), at: 3 * minute,
			want: decision{state: Draining, left: 1, beat: true, again: began.Add(3 * minute)},
		},
		"without knowing when the action began, the heartbeat is sent at once": {
			view: drained(func(v *view) { v.beat, v.pods[0].leaving = time.Time{}, began.Add(minute) }),
			want: decision{state: Draining, left: 1, beat: true, again: began},
		},
		"no heartbeat is sent when no lifecycle hook waits": {
			view: drained(func(v *view) { v.order.Hook, v.pods[0].leaving = "", began.Add(minute) }), at: 5 * minute,
			want: decision{state: Draining, left: 1, again: began.Add(10 * minute)},
		},
		"an empty node completes the lifecycle action": {
			view: drained(func(v *view) { v.pods = nil }), want: decision{state: Empty, result: "CONTINUE"},
		},
		"an empty node whose instance no lifecycle hook holds is done": {
			view: drained(func(v *view) { v.pods, v.order.Hook = nil, "" }), want: decision{state: Empty},
		},
		"an empty node that load balancers still use is held": {
			view: drained(func(v *view) { v.pods, v.settles = nil, began.Add(5*minute) }), at: minute,
			want: decision{state: Draining, again: began.Add(3 * minute)},
		},
		"and decided on when they no longer use it": {
			view: drained(func(v *view) { v.pods, v.settles = nil, began.Add(2*minute) }), at: minute,
			want: decision{state: Draining, again: began.Add(2 * minute)},
		},
		"an empty node that load balancers no longer use completes the action": {
			view: drained(func(v *view) { v.pods, v.settles = nil, began.Add(2*minute) }), at: 2 * minute,
			want: decision{state: Empty, result: "CONTINUE"},
		},
		"an empty node is held no longer than the timeout": {
			view: drained(func(v *view) { v.pods, v.settles = nil, began.Add(time.Hour) }), at: 10 * minute,
			want: decision{state: Empty, result: "CONTINUE"},
		},
		"a node whose pods are not known yet is not empty": {
			view: drained(func(v *view) { v.pods, v.listed = nil, false }), want: decision{state: Draining, again: began.Add(3 * minute)},
		},
		"an instance without a node terminates at once": {
			view: drained(func(v *view) { v.node = nil }), want: decision{state: Empty, result: "CONTINUE"},
		},
		"an API that does not answer says nothing of nodes": {
			view: drained(func(v *view) { v.node, v.answering, v.listed, v.pods = nil, false, false, nil }),
			want: decision{state: Draining, again: began.Add(3 * minute)},
		},
		"an API that never answers does not hold a machine for ever": {
			view: drained(func(v *view) { v.node, v.answering, v.listed, v.pods = nil, false, false, nil }), at: 10 * minute,
			want: decision{state: TimedOut, result: "CONTINUE"},
		},
		"after the timeout the instance terminates": {
			view: drained(func(*view) {}), at: 10 * minute, want: decision{state: TimedOut, result: "CONTINUE", left: 1},
		},
		"an operator that takes over late looks first whether the node is empty": {
			view: drained(func(v *view) {
				v.beat, v.since, v.listed, v.pods = began.Add(20*minute), began.Add(20*minute), false, nil
			}), at: 20 * minute,
			want: decision{state: Draining, again: began.Add(20*minute + 30*time.Second)},
		},
		"but not for ever": {
			view: drained(func(v *view) { v.since, v.listed, v.pods = began.Add(20*minute), false, nil }), at: 21 * minute,
			want: decision{state: TimedOut, result: "CONTINUE"},
		},
		"no time at all is an order, too": {
			view: drained(func(v *view) { v.order.Timeout = 0 }), want: decision{state: TimedOut, result: "CONTINUE", left: 1},
		},
		"after the timeout the machine is kept if that is the policy": {
			view: drained(func(v *view) { v.order.Policy = Abandon }), at: 10 * minute,
			want: decision{state: Kept, result: "ABANDON", left: 1},
		},
		"the pods of a machine that is kept are evicted on": {
			view: drained(func(v *view) { v.order.Policy, v.kept = Abandon, true }), at: time.Hour, want: decision{state: Kept, left: 1},
			pods: 1,
		},
		"a machine that is kept is ended once it is empty": {
			view: drained(func(v *view) { v.order.Policy, v.kept, v.pods = Abandon, true, nil }), at: time.Hour,
			want: decision{state: Empty, terminate: true},
		},
		"a kept instance terminates when it is no longer kept": {
			view: drained(func(v *view) { v.kept = true }), at: time.Hour, want: decision{state: TimedOut, terminate: true, left: 1},
		},
		"a spot instance that is taken back is not kept": {
			view: drained(func(v *view) { v.order.Policy, v.order.Deadline = Abandon, began.Add(2*minute) }), at: 2 * minute,
			want: decision{state: TimedOut, result: "CONTINUE", left: 1},
		},
		"a spot instance that is taken back has its two minutes": {
			view: drained(func(v *view) { v.order.Deadline, v.pods[0].leaving = began.Add(2*minute), began.Add(minute) }), at: minute,
			want: decision{state: Draining, left: 1, again: began.Add(2 * minute)},
		},
		"the pods of a deleted cluster have nowhere to go": {
			view: drained(func(v *view) { v.order.AtOnce, v.answering, v.listed = true, false, false }),
			want: decision{state: Empty, result: "CONTINUE"},
		},
		"a dead kubelet ends no pods": {
			view: drained(func(v *view) { v.node.ready, v.pods[0].leaving = false, began.Add(time.Second) }), at: 2 * minute,
			want: decision{state: Empty, result: "CONTINUE"},
		},
		"a dead kubelet is given the pods' grace and a minute": {
			view: drained(func(v *view) { v.node.ready, v.pods[0].leaving = false, began.Add(time.Second) }), at: minute,
			want: decision{state: Draining, left: 1, again: began.Add(minute + 2*time.Second)},
		},
		"a slow pod does not end the drain of a healthy node": {
			view: drained(func(v *view) { v.pods[0].leaving = began.Add(time.Second) }), at: 2 * minute,
			want: decision{state: Draining, left: 1, again: began.Add(3 * minute)},
		},
		"Auto Scaling no longer waits": {
			view: drained(func(v *view) { v.over = true }), at: minute, want: decision{state: TimedOut, left: 1},
		},
		"a failed AWS call is retried later": {
			view: drained(
				func(v *view) { v.pods, v.awsAt = nil, began.Add(time.Second) },
			), want: decision{state: Draining, again: began.Add(time.Second)},
		},
		"a terminated instance needs no work": {view: drained(func(v *view) { v.terminated = true }), want: decision{state: Gone}},
		"a spot instance with a rebalance recommendation is cordoned": {
			view: drained(func(v *view) { v.order = Order{CordonOnly: true}; v.node.cordoned, v.prepared = false, false }),
			want: decision{state: Draining, cordon: true},
		},
		"and its pods are not evicted": {
			view: drained(func(v *view) { v.order = Order{CordonOnly: true} }), at: time.Hour, want: decision{state: Cordoned},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := decide(&c.view, began.Add(c.at))
			if len(got.evict) != c.pods {
				t.Errorf("evicts %v, want %d pods", got.evict, c.pods)
			}
			got.evict = nil
			if got.state != c.want.state || got.prepare != c.want.prepare || got.cordon != c.want.cordon || got.beat != c.want.beat ||
				got.result != c.want.result || got.terminate != c.want.terminate || got.left != c.want.left ||
				!got.again.Equal(c.want.again) {
				t.Errorf("decided %+v,\nwant %+v", got, c.want)
			}
		})
	}
}

func TestAForbiddenEvictionIsTriedAgainSoonAtFirst(t *testing.T) {
	cases := map[string]struct {
		blocked time.Duration
		kept    bool
		want    time.Duration
	}{
		"at once":                           {0, false, 250 * time.Millisecond},
		"after a while":                     {8 * time.Second, false, 2 * time.Second},
		"after long":                        {time.Hour, false, 5 * time.Second},
		"after long, of a machine kept":     {time.Hour, true, 30 * time.Second},
		"after a while, of a machine kept ": {8 * time.Second, true, 2 * time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := retryIn(c.blocked, c.kept); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
