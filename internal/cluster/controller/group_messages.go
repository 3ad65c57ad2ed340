package controller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Reasons of a group whose instances are being replaced.
const (
	reasonRolling     = "Rolling"
	reasonRollingBack = "RollingBack"
	reasonNotReady    = "NodesNotReady"
	reasonNotDrained  = "NodeNotDrained"
	reasonAllUpdated  = "AllUpdated"
	reasonOutdated    = "NodesOutdated"
)

// view is the input of messages about a group's nodes.
type view struct {
	history *record.History
	status  string // of the stack
	nodes   []workload.Node
	now     time.Time
}

// count returns the number of nodes with the current configuration, of all nodes except outdated
// ones that are cordoned, and of nodes with the current configuration that are not Ready.
func (v *view) count() (updated, total, unready int32) {
	for i := range v.nodes {
		if !v.history.Updated(&v.nodes[i], v.status) {
			if !v.nodes[i].Unschedulable {
				total++
			}
			continue
		}
		total++
		updated++
		if !v.nodes[i].Ready {
			unready++
		}
	}
	return updated, total, unready
}

// rolloutMessage describes the progress of a rollout.
func (v *view) rolloutMessage(rolloutStatus *v1alpha1.RolloutStatus) string {
	updated, total, unready := v.count()
	switch rolloutStatus.State {
	case v1alpha1.RolloutDone:
		return fmt.Sprintf("All instances were replaced: %s up to date.", numberOfNodes(updated))
	case v1alpha1.RolloutRolledBack:
		return strings.TrimSpace("The group was rolled back to its previous configuration. " + v.history.Cause)
	case v1alpha1.RolloutStopped:
		return strings.TrimSpace(
			"Replacing the instances failed, and so did the rollback: some have the new configuration. " + v.history.Cause,
		)
	case v1alpha1.RolloutRolling, v1alpha1.RolloutRollingBack:
	}
	shape := "updated"
	if rolloutStatus.State == v1alpha1.RolloutRollingBack {
		shape = "rolled back"
	}
	parts := []string{fmt.Sprintf("%d of %s %s%s", updated, numberOfNodes(total), shape, since(rolloutStatus.Started))}
	for i := range rolloutStatus.Draining {
		parts = append(parts, drainMessage(&rolloutStatus.Draining[i]))
	}
	if unready > 0 {
		parts = append(parts, v.waiting(unready))
	}
	rolloutMessage := strings.Join(parts, "; ") + "."
	if rolloutStatus.State == v1alpha1.RolloutRollingBack {
		rolloutMessage += " " + v.history.Cause
	}
	return strings.TrimSpace(rolloutMessage)
}

// drainMessage describes the progress of a node's drain.
func drainMessage(drain *v1alpha1.DrainStatus) string {
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
func (v *view) waiting(unready int32) string {
	words := fmt.Sprintf("%d new nodes are not ready yet", unready)
	if unready == 1 {
		words = "1 new node is not ready yet"
	}
	var last time.Time
	for i := range v.nodes {
		if node := &v.nodes[i]; !node.Ready && v.history.Updated(node, v.status) && node.Created.After(last) {
			last = node.Created
		}
	}
	if made := v.history.Made(v.status); made != nil && made.Ready.Duration > 0 {
		words += ", until " + clockTime(last.Add(made.Ready.Duration))
	}
	return words
}

// blame describes which new nodes were not Ready in time; missing are instances that did not join.
func (v *view) blame(missing []string) string {
	var parts []string
	for i := range v.nodes {
		if node := &v.nodes[i]; v.history.Updated(node, v.status) && !node.Ready {
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
	return fmt.Sprintf("New nodes were not ready within %s: %s.", v.history.Next.Ready.Duration, strings.Join(parts, ", "))
}

// rollbackReason returns the condition reason of the last rollback.
func rollbackReason(past *record.History) string {
	if past.Kept {
		return reasonDrainTimedOut
	}
	return reasonNotReady
}

// describeOutcome describes the outcome of a stack in terms of nodes.
func describeOutcome(group *v1alpha1.InstanceGroup, past *record.History, outcome operatorkit.Outcome) operatorkit.Outcome {
	rolloutStatus := group.Status.Rollout
	switch {
	case rolloutStatus == nil:
		return outcome
	case outcome.Kind() == operatorkit.KindWait && past.RolloutToken != "" && rolloutStatus.State == v1alpha1.RolloutRolling:
		return outcome.Explain(
			reasonRolling,
			fmt.Sprintf(
				"CloudFormation is replacing the group's instances: %d of %s updated.",
				rolloutStatus.Updated,
				numberOfNodes(rolloutStatus.Total),
			),
		)
	case outcome.Kind() == operatorkit.KindWait && past.RolloutToken != "" && rolloutStatus.State == v1alpha1.RolloutRollingBack:
		return outcome.Explain(reasonRollingBack, strings.TrimSpace("CloudFormation is rolling back the change. "+past.Cause)).Degraded()
	case outcome.Kind() == operatorkit.KindStall && rolloutStatus.State == v1alpha1.RolloutRolledBack && past.Cause != "":
		return outcome.Explain(
			rollbackReason(past),
			past.Cause+" The group was rolled back to its previous configuration. Change the object to retry.",
		)
	default:
		return outcome
	}
}

// setNodesUpdated sets the condition that reports how many nodes are up to date and which are
// draining: CloudFormation finishes when instances are out of service and does not wait for drains.
func (o *operator) setNodesUpdated(group *v1alpha1.InstanceGroup, past *record.History, count *v1alpha1.NodeCount, held string) {
	condition := metav1.Condition{Type: conditions.Updated, Status: metav1.ConditionFalse}
	rolloutStatus := group.Status.Rollout
	if rolloutStatus != nil && rolloutStatus.Finished != nil {
		rolloutStatus.Draining = o.drainStatus(clusterKeyOf(group), group.Name)
	}
	switch {
	case rolloutStatus != nil && past.RolloutToken != "" && rolloutStatus.State == v1alpha1.RolloutRollingBack:
		condition.Reason, condition.Message = reasonRollingBack, rolloutStatus.Message
	case rolloutStatus != nil && past.RolloutToken != "":
		condition.Reason, condition.Message = reasonRolling, rolloutStatus.Message
	case count.Updated < count.Desired:
		condition.Reason = reasonOutdated
		parts := []string{strings.Replace(count.UpdatedSummary, "/", " of ", 1) + " nodes are up to date"}
		if rolloutStatus != nil {
			for i := range rolloutStatus.Draining {
				parts = append(parts, drainMessage(&rolloutStatus.Draining[i]))
			}
		}
		condition.Message = strings.Join(parts, "; ") + "."
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, reasonAllUpdated
		condition.Message = fmt.Sprintf("All %s are up to date.", numberOfNodes(count.Updated))
		if rolloutStatus != nil && rolloutStatus.State == v1alpha1.RolloutRolledBack {
			condition.Message = "All nodes run the previous configuration. " + rolloutStatus.Message
		}
	}
	condition.Message = strings.TrimSpace(condition.Message + " " + held)
	operatorkit.SetCondition(group, condition)
}

// heldBack explains that a group stays at the Release that its Cluster's control plane runs, "" if
// the spec names no other.
func heldBack(cluster *v1alpha1.Cluster) string {
	if cluster == nil || asRun(cluster) == cluster {
		return ""
	}
	return fmt.Sprintf("Nodes stay at release %s until the whole control plane runs %s.", cluster.Status.Release, cluster.Spec.Release)
}

func numberOfNodes(n int32) string {
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
