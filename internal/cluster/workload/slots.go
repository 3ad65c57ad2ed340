package workload

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

// SlotProblems returns why each slot of a control plane does not serve, without those that do: its node is ready and open for pods, its
// API server answers, and its etcd member is part of the quorum (see [Cluster.SlotsHealth]). It asks every API server.
func (c *Cluster) SlotProblems(ctx context.Context, slots int) map[int]string {
	problems, serving := map[int]string{}, map[int]bool{}
	reachable, problem := c.Reachable()
	silent := ""
	if !reachable {
		silent = "the cluster's API does not answer: " + strings.TrimSuffix(problem, ".")
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
		if serving[slot] { // Another node of the slot is that of a machine that is gone.
			delete(problems, slot)
		}
	}
	return problems
}

// slotProblem returns why a node of the control plane does not serve, "" if it does.
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
