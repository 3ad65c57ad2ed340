package repair

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// absence identifies the stack of a slot.
type absence struct {
	uid   types.UID
	stack string
}

// healthOf returns the health of the nodes' instances.
func (r *tracker) healthOf(nodes []workload.Node) []health {
	all := make([]health, 0, len(nodes))
	for i := range nodes {
		node := &nodes[i]
		one := health{
			instance:  node.InstanceID,
			node:      node.Name,
			well:      node.Ready,
			since:     node.ReadyChanged,
			began:     node.Created,
			replacing: r.isReplacing(node.InstanceID),
		}
		if one.since.Before(node.Created) { // Its kubelet has not reported yet.
			one.since = node.Created
		}
		all = append(all, one)
	}
	return all
}

// tracker records the state of unhealthy instances.
type tracker struct {
	mu        sync.Mutex
	replacing map[string]time.Time   // by instance, with the start time
	missing   map[types.UID]*missing // by group
	said      map[types.UID]string
	absences  map[absence]time.Time // of slots without a node, with the start time
	// joined holds the instances whose nodes were observed since a group's rollout began.
	joined map[types.UID]map[string]bool
}

// missing holds the instances of a group that are in service without a node, as AWS last reported.
type missing struct {
	askedAt  time.Time
	machines []health
	// hinted reports that a sweep found one.
	hinted bool
}

// replacingFor is the maximum time that a termination takes: a drain takes at most a day.
const replacingFor = 25 * time.Hour

func newTracker() *tracker {
	return &tracker{
		replacing: map[string]time.Time{},
		missing:   map[types.UID]*missing{},
		said:      map[types.UID]string{},
		absences:  map[absence]time.Time{},
		joined:    map[types.UID]map[string]bool{},
	}
}

// vanished returns the instances of a rolling group whose nodes were observed before and no longer
// exist.
func (r *tracker) vanished(group types.UID, nodes []workload.Node) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.joined[group] == nil {
		r.joined[group] = map[string]bool{}
	}
	missing := maps.Clone(r.joined[group])
	for i := range nodes {
		r.joined[group][nodes[i].InstanceID] = true
		delete(missing, nodes[i].InstanceID)
	}
	return slices.Sorted(maps.Keys(missing))
}

// rolled forgets the observed nodes of a group whose rollout has ended.
func (r *tracker) rolled(group types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.joined, group)
}

// forgetTerminated forgets terminated instances of a rolling group.
func (r *tracker) forgetTerminated(group types.UID, instances []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, instance := range instances {
		delete(r.joined[group], instance)
	}
}

// absent returns since when a slot has had no node.
func (r *tracker) absent(uid types.UID, stack string, now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := absence{uid, stack}
	if _, ok := r.absences[key]; !ok {
		r.absences[key] = now
	}
	return r.absences[key]
}

// present records that a slot has a node.
func (r *tracker) present(uid types.UID, stack string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.absences, absence{uid, stack})
}

// isNews records a message about an object and reports whether it differs from the last one.
func (r *tracker) isNews(uid types.UID, sentence string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	news := r.said[uid] != sentence
	r.said[uid] = sentence
	return news
}

// isReplacing reports whether the operator requested an instance's termination.
func (r *tracker) isReplacing(instance string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.replacing[instance]
	return ok
}

// replaced records that the operator requested an instance's termination.
func (r *tracker) replaced(instance string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other, at := range r.replacing {
		if now.Sub(at) > replacingFor {
			delete(r.replacing, other)
		}
	}
	r.replacing[instance] = now
}

// terminated forgets a terminated instance.
func (r *tracker) terminated(instance string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.replacing, instance)
	for _, one := range r.missing {
		one.machines = slices.DeleteFunc(one.machines, func(h health) bool { return h.instance == instance })
	}
}

// hint records that a group has an instance without a node, and reports whether that was unknown.
func (r *tracker) hint(group types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.missing[group]
	if one == nil {
		one = &missing{}
		r.missing[group] = one
	}
	news := !one.hinted
	one.hinted = true
	return news
}

// lacking returns a group's instances that had no node at the last request to AWS, how long ago
// that was, and whether a sweep found any since.
func (r *tracker) lacking(group types.UID, now time.Time) (machines []health, ago time.Duration, hinted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.missing[group]
	if one == nil {
		return nil, now.Sub(time.Time{}), false
	}
	return slices.Clone(one.machines), now.Sub(one.askedAt), one.hinted
}

// asked records which instances AWS reported that have no node.
func (r *tracker) asked(group types.UID, machines []health, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missing[group] = &missing{askedAt: now, machines: machines}
}

// forget forgets an object.
func (r *tracker) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.said, uid)
	delete(r.joined, uid)
	delete(r.missing, uid)
	maps.DeleteFunc(r.absences, func(key absence, _ time.Time) bool { return key.uid == uid })
}
