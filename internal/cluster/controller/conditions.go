package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// Conditions of Clusters and InstanceGroups, besides those that the kit writes.
const (
	conditionNetwork      = "NetworkReady"
	conditionControlPlane = "ControlPlaneReady"
	conditionAPI          = "APIReachable"
	conditionNodes        = "NodesReady"
	conditionUpdated      = "NodesUpdated"
	conditionAddons       = "AddonsReady"
	conditionDeprecated   = "ReleaseDeprecated"
)

// conclude writes a step's own condition from its outcome, and returns the outcome.
func conclude(obj client.Object, conditionType, reason, message string, outcome operatorkit.Outcome) operatorkit.Outcome {
	condition := metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: reason, Message: message}
	if !outcome.IsDone() {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, outcome.Reason(), outcome.Message()
	}
	if condition.Reason == "" { // A failure without an explanation.
		condition.Reason = operatorkit.ReasonFailed
		if err := outcome.Err(); err != nil {
			condition.Message = "This failed and will be tried again: " + err.Error() + "."
		}
	}
	operatorkit.SetCondition(obj, condition)
	return outcome
}
