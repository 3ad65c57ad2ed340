package inprocess

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// terminalReasons are reasons that require a user's action, although the operator retries.
var terminalReasons = []string{
	string(awsapi.Denied), string(awsapi.Expired), string(awsapi.BadCredentials), "RoleNotAssumable",
	stack.ReasonApprovalNeeded, stack.ReasonApprovalStale,
}

// evaluate reports whether the goal is reached. It returns an error if a user must act first.
func evaluate(p *Progress, goal Goal) (reached bool, err error) {
	if p.Cluster == nil {
		if goal == Gone {
			return len(p.Groups) == 0, nil
		}
		return false, &StalledError{Kind: "Cluster", Reason: "Deleted", Message: "Another client deleted it in the meantime."}
	}
	if err := stalledError("Cluster", p.Cluster, p.Cluster.Spec.Paused); err != nil {
		return false, err
	}
	for i := range p.Groups {
		if err := stalledError("InstanceGroup", &p.Groups[i], false); err != nil {
			return false, err
		}
	}
	return goal == Ready && isReady(p), nil
}

// isReady reports whether the cluster and its groups are ready for their current specs, and the
// groups run the release of the control plane.
func isReady(p *Progress) bool {
	cluster := p.Cluster
	if cluster.DeletionTimestamp != nil || !holds(cluster, operatorkit.ConditionReady) || cluster.Status.Release != cluster.Spec.Release {
		return false
	}
	return !slices.ContainsFunc(p.Groups, func(g v1alpha1.InstanceGroup) bool {
		return g.DeletionTimestamp != nil || !holds(&g, operatorkit.ConditionReady) || g.Status.Release != cluster.Status.Release
	})
}

// holds reports whether a condition is True for the object's current generation.
func holds(object client.Object, conditionType string) bool {
	condition := operatorkit.FindCondition(object, conditionType)
	return condition != nil && condition.Status == metav1.ConditionTrue && condition.ObservedGeneration == object.GetGeneration()
}

// stalledError returns an error if an object cannot become ready without a user's action.
func stalledError(kind string, object client.Object, paused bool) error {
	if paused || operatorkit.HasPausedAnnotation(object, v1alpha1.PausedAnnotation) {
		return &StalledError{
			Kind: kind, Name: object.GetName(), Reason: operatorkit.ReasonPaused,
			Message: "It is paused, and the operator does not change it. Remove spec.paused or the annotation " + v1alpha1.PausedAnnotation + ".",
		}
	}
	condition := operatorkit.FindCondition(object, operatorkit.ConditionStalled)
	if condition == nil || condition.Status != metav1.ConditionTrue {
		condition = operatorkit.FindCondition(object, operatorkit.ConditionSynced)
		if condition == nil || condition.Status != metav1.ConditionFalse || !slices.Contains(terminalReasons, condition.Reason) {
			return nil
		}
	}
	if condition.ObservedGeneration != object.GetGeneration() {
		return nil // It is for an earlier generation.
	}
	return &StalledError{Kind: kind, Name: object.GetName(), Reason: condition.Reason, Message: condition.Message}
}
