package controller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// Machines that EC2 finds unwell, by its own status checks, are replaced by Auto Scaling itself:
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/health-checks-overview.html
// What it cannot see is looked after here: a node that is not ready, and a machine that never became a node.

const (
	// repairAfter is how long a node may be unwell before its machine is replaced.
	repairAfter = 10 * time.Minute
	// mostUnhealthy is the share of a group's nodes that may be unwell for any to be replaced.
	mostUnhealthy = "40%"
)

// health is how one machine of a group is.
type health struct {
	// instance is the machine, node its node, empty if it has none.
	instance, node string
	// well says that its node is ready; since is when it was last, or when the machine began if it never was.
	well  bool
	since time.Time
	// began is when the machine or its node began.
	began time.Time
	// replacing says that it is being replaced already.
	replacing bool
}

// repairPlan is what is to be done about machines that are unwell.
type repairPlan struct {
	// replace are the machines to be replaced now.
	replace []health
	// unwell of total are not well, of which limit may be.
	unwell, total, limit int
	// held says that machines would be replaced if not so many were unwell.
	held bool
	// again is after what time another machine may be due; zero for none.
	again time.Duration
}

// planRepair says which machines are to be replaced. Every machine that is unwell counts for the limit, however long it has been:
// when a network fails, nodes are not all lost in the same second. Of those that may be replaced, as many are at once as the limit is.
func planRepair(machines []health, after time.Duration, limit int, now time.Time) repairPlan {
	plan := repairPlan{total: len(machines), limit: limit}
	var due []health
	replacing := 0
	for _, one := range machines {
		if one.well {
			continue
		}
		plan.unwell++
		wait := one.since.Add(after).Sub(now)
		switch {
		case one.replacing:
			replacing++
		case wait <= 0:
			due = append(due, one)
		case plan.again == 0 || wait < plan.again:
			plan.again = wait
		}
	}
	if plan.unwell > limit {
		plan.held = len(due) > 0
		return plan
	}
	slices.SortFunc(due, func(a, b health) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.instance, b.instance)) })
	plan.replace = due[:min(len(due), limit-replacing)]
	return plan
}

// repairLimit returns how many of a group's machines may be unwell for any to be replaced: at least one, however small the group.
func repairLimit(most *intstr.IntOrString, total int) int {
	if most == nil {
		most = new(intstr.FromString(mostUnhealthy))
	}
	limit, err := intstr.GetScaledValueFromIntOrPercent(most, total, false)
	if err != nil {
		return 1
	}
	return max(1, limit)
}

// sentence says why nothing is replaced.
func (p *repairPlan) sentence() string {
	return fmt.Sprintf("%d of %d nodes are unwell, which is more than the %d of spec.repair.maxUnhealthy: none is replaced, since something else is likely broken.", p.unwell, p.total, p.limit)
}

// healthOf says how the machines of nodes are.
func (r *repairs) healthOf(nodes []workload.Node) []health {
	all := make([]health, 0, len(nodes))
	for i := range nodes {
		node := &nodes[i]
		one := health{instance: node.InstanceID, node: node.Name, well: node.Ready, since: node.ReadyChanged, began: node.Created, replacing: r.isReplacing(node.InstanceID)}
		if one.since.Before(node.Created) { // Its kubelet has said nothing yet.
			one.since = node.Created
		}
		all = append(all, one)
	}
	return all
}

// repairs is what is remembered of machines that are unwell.
type repairs struct {
	mu        sync.Mutex
	replacing map[string]time.Time // by instance, since when
	missing   map[string]*missing  // by stack
	said      map[types.UID]string
	absences  map[stackKey]time.Time // of slots without a node, since when
	// joined are the machines whose nodes were seen since a group began to roll.
	joined map[types.UID]map[string]bool
}

// missing are the machines of a stack that are in service and have no node, as AWS said last.
type missing struct {
	askedAt  time.Time
	machines []health
	// hinted says that a sweep found one.
	hinted bool
}

// replacingFor is how long a machine that was told to go may take to be gone: drains take a day at most.
const replacingFor = 25 * time.Hour

func newRepairs() *repairs {
	return &repairs{replacing: map[string]time.Time{}, missing: map[string]*missing{}, said: map[types.UID]string{}, absences: map[stackKey]time.Time{}, joined: map[types.UID]map[string]bool{}}
}

// vanished returns the machines of a group that rolls whose nodes were seen before and are not there now.
func (r *repairs) vanished(group types.UID, nodes []workload.Node) []string {
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

// rolled forgets which nodes of a group were seen, since it does not roll any more.
func (r *repairs) rolled(group types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.joined, group)
}

// mourned forgets machines of a group that rolls.
func (r *repairs) mourned(group types.UID, instances []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, instance := range instances {
		delete(r.joined[group], instance)
	}
}

// absent returns since when a slot has had no node.
func (r *repairs) absent(uid types.UID, stack string, now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := stackKey{uid, stack}
	if _, ok := r.absences[key]; !ok {
		r.absences[key] = now
	}
	return r.absences[key]
}

// present notes that a slot has a node.
func (r *repairs) present(uid types.UID, stack string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.absences, stackKey{uid, stack})
}

// isNews reports whether an object was told something that it was not told before.
func (r *repairs) isNews(uid types.UID, sentence string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	news := r.said[uid] != sentence
	r.said[uid] = sentence
	return news
}

// isReplacing reports whether a machine was told to go.
func (r *repairs) isReplacing(instance string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.replacing[instance]
	return ok
}

// replaced notes that a machine was told to go.
func (r *repairs) replaced(instance string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other, at := range r.replacing {
		if now.Sub(at) > replacingFor {
			delete(r.replacing, other)
		}
	}
	r.replacing[instance] = now
}

// gone forgets a machine that has ended.
func (r *repairs) gone(instance string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.replacing, instance)
	for _, one := range r.missing {
		one.machines = slices.DeleteFunc(one.machines, func(h health) bool { return h.instance == instance })
	}
}

// hint notes that a stack has a machine without a node, and returns whether that is news.
func (r *repairs) hint(stack string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.missing[stack]
	if one == nil {
		one = &missing{}
		r.missing[stack] = one
	}
	news := !one.hinted
	one.hinted = true
	return news
}

// lacking returns the machines of a stack that had no node when AWS was asked last, how long that is ago, and whether a sweep found any
// since.
func (r *repairs) lacking(stack string, now time.Time) (machines []health, ago time.Duration, hinted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.missing[stack]
	if one == nil {
		return nil, now.Sub(time.Time{}), false
	}
	return slices.Clone(one.machines), now.Sub(one.askedAt), one.hinted
}

// asked notes what AWS said of machines without nodes.
func (r *repairs) asked(stack string, machines []health, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missing[stack] = &missing{askedAt: now, machines: machines}
}

// forget forgets an object.
func (r *repairs) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.said, uid)
	delete(r.joined, uid)
	maps.DeleteFunc(r.absences, func(key stackKey, _ time.Time) bool { return key.uid == uid })
}

// repairTime returns after what time a machine that is unwell is replaced.
func repairTime(given *v1alpha1.Repair) time.Duration {
	if given.After != nil {
		return given.After.Duration
	}
	return repairAfter
}

// nodesNamed names nodes, or machines without one, for people.
func nodesNamed(machines []health) string {
	names := make([]string, len(machines))
	for i := range machines {
		names[i] = cmp.Or(machines[i].node, machines[i].instance)
	}
	return strings.Join(names, ", ")
}
