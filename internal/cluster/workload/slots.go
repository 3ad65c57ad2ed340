package workload

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

// SlotProblems returns the problems of unhealthy control-plane slots. A slot is healthy if its node
// is Ready and schedulable, its API server responds, and its etcd member is part of the quorum (see
// [Cluster.SlotsHealth]). It queries every API server.
func (c *Cluster) SlotProblems(ctx context.Context, slots int) map[int]string {
	problems, serving := map[int]string{}, map[int]bool{}
	reachable, problem := c.Reachable()
	silent := ""
	if !reachable {
		silent = "the cluster's API does not respond: " + strings.TrimSuffix(problem, ".")
	}
	for slot := range slots {
		problems[slot] = cmp.Or(silent, "it has no node")
	}
	if silent != "" {
		return problems
	}
	nodes := map[string]Node{}
	for _, node := range c.Nodes() {
		nodes[node.Name] = node
	}
	for _, health := range c.SlotsHealth(ctx) {
		problems[health.Slot] = slotProblem(nodes[health.Node], &health)
		serving[health.Slot] = serving[health.Slot] || problems[health.Slot] == ""
	}
	for slot := range serving {
		if serving[slot] { // Another node of the slot belongs to a terminated instance.
			delete(problems, slot)
		}
	}
	return problems
}

// slotProblem returns the problem of a control-plane node, "" if it is healthy.
func slotProblem(node Node, health *SlotHealth) string {
	switch {
	case !node.Ready:
		return fmt.Sprintf("its node %s is not ready", health.Node)
	case !health.OK():
		return fmt.Sprintf("the API server of its node %s is not ready, %s", health.Node, health.Problem)
	case node.Unschedulable:
		return fmt.Sprintf("its node %s is cordoned", health.Node)
	default:
		return ""
	}
}
