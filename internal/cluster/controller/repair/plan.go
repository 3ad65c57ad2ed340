package repair

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
)

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

// TimeOf returns how long an instance may be unhealthy before it is replaced.
func TimeOf(given *v1alpha1.Repair) time.Duration {
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
