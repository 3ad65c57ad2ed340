package controller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Reasons of a group whose machines are replaced.
const (
	reasonRolling     = "Rolling"
	reasonRollingBack = "RollingBack"
	reasonNotReady    = "NodesNotReady"
	reasonNotDrained  = "NodeNotDrained"
	reasonAllUpdated  = "AllUpdated"
	reasonOutdated    = "NodesOutdated"
)

// view is what there is to be told of a group's nodes.
type view struct {
	history *history
	status  string // of the stack
	nodes   []workload.Node
	now     time.Time
}

// count counts the nodes of the present shape, all but those of a former one that are on their way out, and those of the present shape
// that are not ready.
func (v *view) count() (updated, total, unready int32) {
	for i := range v.nodes {
		if !v.history.updated(&v.nodes[i], v.status) {
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

// story says in a sentence how far the replacement of machines is.
func (v *view) story(told *v1alpha1.RolloutStatus) string {
	updated, total, unready := v.count()
	switch told.State {
	case v1alpha1.RolloutDone:
		return fmt.Sprintf("All machines were replaced: %s of the present shape.", numberOfNodes(updated))
	case v1alpha1.RolloutRolledBack:
		return strings.TrimSpace("The group is back at its former shape. " + v.history.Cause)
	case v1alpha1.RolloutStopped:
		return strings.TrimSpace("Replacing the machines failed, and so did going back: some have the new shape. " + v.history.Cause)
	case v1alpha1.RolloutRolling, v1alpha1.RolloutRollingBack:
	}
	shape := "present"
	if told.State == v1alpha1.RolloutRollingBack {
		shape = "former"
	}
	parts := []string{fmt.Sprintf("%d of %s run the %s shape%s", updated, numberOfNodes(total), shape, since(told.Started))}
	for i := range told.Draining {
		parts = append(parts, drainWords(&told.Draining[i]))
	}
	if unready > 0 {
		parts = append(parts, v.waiting(unready))
	}
	story := strings.Join(parts, "; ") + "."
	if told.State == v1alpha1.RolloutRollingBack {
		story += " " + v.history.Cause
	}
	return strings.TrimSpace(story)
}

// drainWords says how far a node is from being empty.
func drainWords(drain *v1alpha1.DrainStatus) string {
	words := fmt.Sprintf("node %s is being drained%s", drain.Node, since(drain.Since))
	switch len(drain.BlockedBy) {
	case 0:
		return words
	case 1:
		return words + " and waits for the PodDisruptionBudget " + drain.BlockedBy[0]
	default:
		return words + " and waits for the PodDisruptionBudgets " + strings.Join(drain.BlockedBy, ", ")
	}
}

// waiting says until when nodes of the present shape may take to become ready.
func (v *view) waiting(unready int32) string {
	words := fmt.Sprintf("%d new nodes are not ready yet", unready)
	if unready == 1 {
		words = "1 new node is not ready yet"
	}
	var last time.Time
	for i := range v.nodes {
		if node := &v.nodes[i]; !node.Ready && v.history.updated(node, v.status) && node.Created.After(last) {
			last = node.Created
		}
	}
	if made := v.history.made(v.status); made != nil && made.Ready.Duration > 0 {
		words += ", until " + clockTime(last.Add(made.Ready.Duration))
	}
	return words
}

// blame says which nodes of the new shape were not ready in time; missing are machines that did not join.
func (v *view) blame(missing []string) string {
	var parts []string
	for i := range v.nodes {
		if node := &v.nodes[i]; v.history.updated(node, v.status) && !node.Ready {
			parts = append(parts, fmt.Sprintf("node %s (%s) joined and is not ready", node.Name, node.InstanceID))
		}
	}
	slices.Sort(missing)
	for _, id := range missing {
		parts = append(parts, fmt.Sprintf("machine %s did not join", id))
	}
	const most = 5
	if len(parts) > most {
		parts = append(parts[:most], fmt.Sprintf("and %d more", len(parts)-most))
	}
	if len(parts) == 0 {
		return "It is not known which node was not ready in time."
	}
	return fmt.Sprintf("Nodes of the new shape were not ready within %s: %s.", v.history.Next.Ready.Duration, strings.Join(parts, ", "))
}

// reason says in a word why the last change was taken back.
func (h *history) reason() string {
	if h.Kept {
		return reasonDrainTimedOut
	}
	return reasonNotReady
}

// inWords says the outcome of a stack to somebody who looks at nodes.
func inWords(group *v1alpha1.InstanceGroup, past *history, outcome operatorkit.Outcome) operatorkit.Outcome {
	told := group.Status.Rollout
	switch {
	case told == nil:
		return outcome
	case outcome.Kind() == operatorkit.KindWait && past.Told != "" && told.State == v1alpha1.RolloutRolling:
		return outcome.Explain(reasonRolling, fmt.Sprintf("CloudFormation replaces the group's machines: %d of %s run the present shape.", told.Updated, numberOfNodes(told.Total)))
	case outcome.Kind() == operatorkit.KindWait && past.Told != "" && told.State == v1alpha1.RolloutRollingBack:
		return outcome.Explain(reasonRollingBack, strings.TrimSpace("CloudFormation takes the change back. "+past.Cause)).Degraded()
	case outcome.Kind() == operatorkit.KindStall && told.State == v1alpha1.RolloutRolledBack && past.Cause != "":
		return outcome.Explain(past.reason(), past.Cause+" The group is back at its former shape. Change the object to try again.")
	default:
		return outcome
	}
}

// sayUpdated writes the condition that says how many nodes are of the present shape, and which are on their way out: CloudFormation is
// done when they are out of service, and does not wait until they are empty.
func (o *operator) sayUpdated(group *v1alpha1.InstanceGroup, past *history, count *v1alpha1.NodeCount, held string) {
	condition := metav1.Condition{Type: conditionUpdated, Status: metav1.ConditionFalse}
	told := group.Status.Rollout
	if told != nil && told.Finished != nil {
		told.Draining = o.drainStatus(clusterKeyOf(group), group.Name)
	}
	switch {
	case told != nil && past.Told != "" && told.State == v1alpha1.RolloutRollingBack:
		condition.Reason, condition.Message = reasonRollingBack, told.Message
	case told != nil && past.Told != "":
		condition.Reason, condition.Message = reasonRolling, told.Message
	case count.Updated < count.Desired:
		condition.Reason = reasonOutdated
		parts := []string{strings.Replace(count.UpdatedSummary, "/", " of ", 1) + " nodes run the present shape"}
		if told != nil {
			for i := range told.Draining {
				parts = append(parts, drainWords(&told.Draining[i]))
			}
		}
		condition.Message = strings.Join(parts, "; ") + "."
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, reasonAllUpdated
		condition.Message = fmt.Sprintf("All %s run the present shape.", numberOfNodes(count.Updated))
		if told != nil && told.State == v1alpha1.RolloutRolledBack {
			condition.Message = "All nodes run the former shape. " + told.Message
		}
	}
	condition.Message = strings.TrimSpace(condition.Message + " " + held)
	operatorkit.SetCondition(group, condition)
}

// heldBack says that a group stays at the Release that its Cluster's control plane runs, "" if the spec wants no other.
func heldBack(cluster *v1alpha1.Cluster) string {
	if cluster == nil || asRun(cluster) == cluster {
		return ""
	}
	return fmt.Sprintf("They stay at release %s until the whole control plane runs %s.", cluster.Status.Release, cluster.Spec.Release)
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

// clockTime says when something is, or was, today.
func clockTime(at time.Time) string { return at.UTC().Format("15:04 MST") }
