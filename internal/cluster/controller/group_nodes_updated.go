package controller

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/models"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/progress"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Reasons of a group whose instances are being replaced.
const (
	reasonRolling     = "Rolling"
	reasonRollingBack = "RollingBack"
	reasonRolledBack  = "RolledBack"
	reasonNotReady    = "NodesNotReady"
	reasonAllUpdated  = "AllUpdated"
	reasonOutdated    = "NodesOutdated"
)

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
				progress.NumberOfNodes(rolloutStatus.Total),
			),
		)
	case outcome.Kind() == operatorkit.KindWait && past.RolloutToken != "" && rolloutStatus.State == v1alpha1.RolloutRollingBack:
		return outcome.Explain(reasonRollingBack, strings.TrimSpace("CloudFormation is rolling back the change. "+past.Cause)).Degraded()
	case outcome.Kind() == operatorkit.KindStall && rolloutStatus.State == v1alpha1.RolloutRolledBack && past.Cause != "":
		return outcome.Explain(
			rollbackReason(past),
			past.Cause+" The group was rolled back to its previous configuration. Change the object or its annotation aws-operator/retry to retry.",
		)
	default:
		return outcome
	}
}

// setNodesUpdated sets the condition that reports how many nodes are up to date and which are
// draining: CloudFormation finishes when instances are out of service and does not wait for drains.
func (o *operator) setNodesUpdated(group *v1alpha1.InstanceGroup, known *record.Stack, count *v1alpha1.NodeCount, held string) {
	past := known.History()
	condition := metav1.Condition{Type: conditions.Updated, Status: metav1.ConditionFalse}
	rolloutStatus := group.Status.Rollout
	if rolloutStatus != nil && rolloutStatus.Finished != nil {
		rolloutStatus.Draining = o.draining.Status(clusterKeyOf(group), group.Name)
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
				parts = append(parts, progress.Drain(&rolloutStatus.Draining[i]))
			}
		}
		condition.Message = strings.Join(parts, "; ") + "."
	case known.FailedDigest != "":
		condition.Reason, condition.Message = reasonRolledBack, "The last change failed: all nodes run the previous configuration."
		if rolloutStatus != nil && rolloutStatus.State == v1alpha1.RolloutRolledBack {
			condition.Message = rolloutStatus.Message
		}
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, reasonAllUpdated
		condition.Message = "All nodes are up to date."
	}
	condition.Message = strings.TrimSpace(condition.Message + " " + held)
	operatorkit.SetCondition(group, condition)
}

// heldBack explains that a group stays at the Release that its Cluster's control plane runs, "" if
// the spec names no other.
func heldBack(cluster *v1alpha1.Cluster) string {
	if cluster == nil || models.AsRun(cluster) == cluster {
		return ""
	}
	return fmt.Sprintf("Nodes stay at release %s until the whole control plane runs %s.", cluster.Status.Release, cluster.Spec.Release)
}
