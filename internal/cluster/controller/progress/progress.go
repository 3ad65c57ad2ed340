package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

// View is the input of messages about a group's nodes.
type View struct {
	History *record.History
	Status  string // of the stack
	Nodes   []workload.Node
	// Expected is the number of nodes that the group has at least, also while they are not known.
	Expected int32
}

// Count returns the number of nodes with the current configuration, of all nodes except outdated
// ones that are cordoned but at least the expected ones, and of nodes with the current configuration
// that are not Ready.
func (v *View) Count() (updated, total, unready int32) {
	for i := range v.Nodes {
		if !v.History.Updated(&v.Nodes[i], v.Status) {
			if !v.Nodes[i].Unschedulable {
				total++
			}
			continue
		}
		total++
		updated++
		if !v.Nodes[i].Ready {
			unready++
		}
	}
	return updated, max(total, v.Expected), unready
}

// Totals returns the numbers of updated and of all nodes that a rollout's status reports. Nodes of
// instances that terminate when CloudFormation has completed a change may still exist, without being
// cordoned: they do not count.
func (v *View) Totals(state v1alpha1.RolloutState) (updated, total int32) {
	updated, total, _ = v.Count()
	switch state {
	case v1alpha1.RolloutDone:
		updated = 0
		for i := range v.Nodes { // Nodes with the same bundle differ only by their creation time.
			if v.History.Updated(&v.Nodes[i], v.Status) && v.History.IsLater(&v.Nodes[i]) {
				updated++
			}
		}
		return updated, updated
	case v1alpha1.RolloutRolledBack:
		return updated, updated
	case v1alpha1.RolloutRolling, v1alpha1.RolloutRollingBack, v1alpha1.RolloutStopped:
	}
	return updated, total
}

// Message describes the progress of a rollout.
func (v *View) Message(rolloutStatus *v1alpha1.RolloutStatus) string {
	updated, total := v.Totals(rolloutStatus.State)
	_, _, unready := v.Count()
	switch rolloutStatus.State {
	case v1alpha1.RolloutDone:
		return fmt.Sprintf("All instances were replaced: %s up to date.", NumberOfNodes(updated))
	case v1alpha1.RolloutRolledBack:
		return strings.TrimSpace("Rolled back: all nodes run the previous configuration. " + v.History.Cause)
	case v1alpha1.RolloutStopped:
		return strings.TrimSpace(
			"Replacing the instances failed, and so did the rollback: some have the new configuration. " + v.History.Cause,
		)
	case v1alpha1.RolloutRolling, v1alpha1.RolloutRollingBack:
	}
	shape := "updated"
	if rolloutStatus.State == v1alpha1.RolloutRollingBack {
		shape = "rolled back"
	}
	parts := []string{fmt.Sprintf("%d of %s %s%s", updated, NumberOfNodes(total), shape, since(rolloutStatus.Started))}
	for i := range rolloutStatus.Draining {
		parts = append(parts, Drain(&rolloutStatus.Draining[i]))
	}
	if unready > 0 {
		parts = append(parts, v.waiting(unready))
	}
	rolloutMessage := strings.Join(parts, "; ") + "."
	if rolloutStatus.State == v1alpha1.RolloutRollingBack {
		rolloutMessage += " " + v.History.Cause
	}
	return strings.TrimSpace(rolloutMessage)
}

// Drain describes the progress of a node's drain.
func Drain(drain *v1alpha1.DrainStatus) string {
	words := fmt.Sprintf("node %s is draining%s", drain.Node, since(drain.Since))
	switch len(drain.BlockedBy) {
	case 0:
		return words
	case 1:
		return words + " and waits for the PodDisruptionBudget " + drain.BlockedBy[0]
	default:
		return words + " and waits for the PodDisruptionBudgets " + strings.Join(drain.BlockedBy, ", ")
	}
}

// waiting describes how many nodes with the current configuration are not Ready, and their
// deadline.
func (v *View) waiting(unready int32) string {
	words := fmt.Sprintf("%d new nodes are not ready yet", unready)
	if unready == 1 {
		words = "1 new node is not ready yet"
	}
	var last time.Time
	for i := range v.Nodes {
		if node := &v.Nodes[i]; !node.Ready && v.History.Updated(node, v.Status) && node.Created.After(last) {
			last = node.Created
		}
	}
	if made := v.History.Made(v.Status); made != nil && made.Ready.Duration > 0 {
		words += ", until " + clockTime(last.Add(made.Ready.Duration))
	}
	return words
}

// Blame describes which new nodes were not Ready in time; missing are instances that did not join.
func (v *View) Blame(missing []string) string {
	var parts []string
	for i := range v.Nodes {
		if node := &v.Nodes[i]; v.History.Updated(node, v.Status) && !node.Ready {
			parts = append(parts, fmt.Sprintf("node %s (%s) joined but is not ready", node.Name, node.InstanceID))
		}
	}
	slices.Sort(missing)
	for _, id := range missing {
		parts = append(parts, fmt.Sprintf("instance %s did not join", id))
	}
	const most = 5
	if len(parts) > most {
		parts = append(parts[:most], fmt.Sprintf("and %d more", len(parts)-most))
	}
	if len(parts) == 0 {
		return "The nodes that were not ready in time could not be determined."
	}
	return fmt.Sprintf("New nodes were not ready within %s: %s.", v.History.Next.Ready.Duration, strings.Join(parts, ", "))
}

// NumberOfNodes returns a number with its noun.
func NumberOfNodes(n int32) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}

func since(at *metav1.Time) string {
	if at == nil {
		return ""
	}
	return " since " + clockTime(at.Time)
}

// clockTime formats a time of the current day.
func clockTime(at time.Time) string { return at.UTC().Format("15:04 MST") }
