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

// Auto Scaling replaces instances that fail EC2's status checks:
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/health-checks-overview.html
//
// The operator replaces what those checks miss: instances whose node is not Ready, and instances
// that never joined.

const (
	// repairAfter is how long a node may be unhealthy before its instance is replaced.
	repairAfter = 10 * time.Minute
	// mostUnhealthy is the maximum share of unhealthy nodes in a group at which the operator still
	// replaces instances.
	mostUnhealthy = "40%"
)

// health is the health of one instance.
type health struct {
	// instance is the instance's ID, node its node's name, empty if it has none.
	instance, node string
	// well reports that its node is Ready. since is when the readiness last changed, or when the
	// instance started if it never was Ready.
	well  bool
	since time.Time
	// began is when the instance was launched or its node created.
	began time.Time
	// replacing reports that the instance is already being replaced.
	replacing bool
}

// repairPlan lists what to do about unhealthy instances.
type repairPlan struct {
	// replace lists the instances to replace now.
	replace []health
	// unwell of total instances are unhealthy; limit is the maximum.
	unwell, total, limit int
	// held reports that the limit prevents replacements.
	held bool
	// again is the delay until another instance may be due, zero for none.
	again time.Duration
}

// planRepair decides which instances to replace. Every unhealthy instance counts toward the limit,
// no matter for how long: when a network fails, nodes do not all turn NotReady in the same second.
// At most limit instances are replaced at once.
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

// repairLimit returns how many of a group's instances may be unhealthy before replacements stop: at
// least one, however small the group.
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

// sentence explains why no instance is replaced.
func (p *repairPlan) sentence() string {
	return fmt.Sprintf(
		"%d of %d nodes are unhealthy, more than the %d that spec.repair.maxUnhealthy allows. No node is replaced, since the cause is likely elsewhere.",
		p.unwell,
		p.total,
		p.limit,
	)
}

// healthOf returns the health of the nodes' instances.
func (r *repairs) healthOf(nodes []workload.Node) []health {
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

// repairs records the state of unhealthy instances.
type repairs struct {
	mu        sync.Mutex
	replacing map[string]time.Time // by instance, with the start time
	missing   map[string]*missing  // by stack
	said      map[types.UID]string
	absences  map[stackKey]time.Time // of slots without a node, with the start time
	// joined holds the instances whose nodes were observed since a group's rollout began.
	joined map[types.UID]map[string]bool
}

// missing holds the instances of a stack that are in service without a node, as AWS last reported.
type missing struct {
	askedAt  time.Time
	machines []health
	// hinted reports that a sweep found one.
	hinted bool
}

// replacingFor is the maximum time that a termination takes: a drain takes at most a day.
const replacingFor = 25 * time.Hour

func newRepairs() *repairs {
	return &repairs{
		replacing: map[string]time.Time{},
		missing:   map[string]*missing{},
		said:      map[types.UID]string{},
		absences:  map[stackKey]time.Time{},
		joined:    map[types.UID]map[string]bool{},
	}
}

// vanished returns the instances of a rolling group whose nodes were observed before and no longer
// exist.
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

// rolled forgets the observed nodes of a group whose rollout has ended.
func (r *repairs) rolled(group types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.joined, group)
}

// forgetTerminated forgets terminated instances of a rolling group.
func (r *repairs) forgetTerminated(group types.UID, instances []string) {
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

// present records that a slot has a node.
func (r *repairs) present(uid types.UID, stack string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.absences, stackKey{uid, stack})
}

// isNews records a message about an object and reports whether it differs from the last one.
func (r *repairs) isNews(uid types.UID, sentence string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	news := r.said[uid] != sentence
	r.said[uid] = sentence
	return news
}

// isReplacing reports whether the operator requested an instance's termination.
func (r *repairs) isReplacing(instance string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.replacing[instance]
	return ok
}

// replaced records that the operator requested an instance's termination.
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

// terminated forgets a terminated instance.
func (r *repairs) terminated(instance string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.replacing, instance)
	for _, one := range r.missing {
		one.machines = slices.DeleteFunc(one.machines, func(h health) bool { return h.instance == instance })
	}
}

// hint records that a stack has an instance without a node, and reports whether that was unknown.
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

// lacking returns a stack's instances that had no node at the last request to AWS, how long ago
// that was, and whether a sweep found any since.
func (r *repairs) lacking(stack string, now time.Time) (machines []health, ago time.Duration, hinted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.missing[stack]
	if one == nil {
		return nil, now.Sub(time.Time{}), false
	}
	return slices.Clone(one.machines), now.Sub(one.askedAt), one.hinted
}

// asked records which instances AWS reported that have no node.
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

// repairTime returns how long an instance may be unhealthy before it is replaced.
func repairTime(given *v1alpha1.Repair) time.Duration {
	if given.After != nil {
		return given.After.Duration
	}
	return repairAfter
}

// nodesNamed lists the names of nodes, or the IDs of instances without one.
func nodesNamed(machines []health) string {
	names := make([]string, len(machines))
	for i := range machines {
		names[i] = cmp.Or(machines[i].node, machines[i].instance)
	}
	return strings.Join(names, ", ")
}
