package controller

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// accountStep determines the Cluster's account and subscribes to its events.
type accountStep struct{ *operator }

// Name returns the step's name.
func (s accountStep) Name() string { return "account" }

// EnsureCreated determines the account of the Cluster.
func (s accountStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	return s.find(ctx, cluster)
}

// EnsureDeleted ends the deletion: it removes the Cluster from all caches.
func (s accountStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if isAbandoned(cluster) {
		s.recorder.Eventf(cluster, nil, corev1.EventTypeWarning, reasonAbandoned, "Delete", "%s", abandonedNote(cluster))
	}
	s.forget(cluster.UID)
	if err := s.retain(ctx, cluster.UID); err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}

// find sets the account in the Cluster's status and subscribes to its events.
func (s accountStep) find(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if outcome := s.targets.MayAssume(cluster); !outcome.IsDone() {
		return outcome
	}
	target := s.targets.Of(cluster)
	account, err := s.targets.Account(ctx, cluster, target)
	if explained := awsapi.Explain(err); err != nil && explained.Transient() { // The error does not concern the role.
		return operatorkit.Fail(err).Explain(explained.Reason, explained.Message)
	}
	if err != nil {
		return outcomes.Failed(err).Explain("RoleNotAssumable", fmt.Sprintf("The operator has no access to the Cluster's account: %s", err))
	}
	switch cluster.Status.Account {
	case account:
	case "":
		cluster.Status.Account = account
	default:
		return operatorkit.Stall("AccountChanged", fmt.Sprintf(
			"The Cluster is in account %s, but its role or the operator's credentials belong to account %s. A Cluster cannot change its account: restore the previous role or credentials.",
			cluster.Status.Account,
			account,
		))
	}
	if s.options.Events != nil {
		s.options.Events.Listen(target)
	}
	return operatorkit.Done()
}

// findAgain determines the account of a Cluster that is being deleted if its status was lost or
// never written. Without the account, the remaining resources are unknown, so the deletion waits
// until the role can be assumed or the user abandons the Cluster.
func (s accountStep) findAgain(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if isAbandoned(cluster) {
		return operatorkit.Done()
	}
	if outcome := s.targets.MayAssume(cluster); !outcome.IsDone() {
		return outcome
	}
	if cluster.Status.Account != "" {
		return operatorkit.Done()
	}
	account, err := s.targets.Account(ctx, cluster, s.targets.Of(cluster))
	if err != nil {
		if explained := awsapi.Explain(err); explained.Transient() {
			return operatorkit.Fail(err).Explain(explained.Reason, explained.Message)
		}
		return accountUnknown(cluster, err)
	}
	cluster.Status.Account = account
	return operatorkit.Done()
}

const (
	// abandonAnnotation on a Cluster that is being deleted permits removing it and its
	// InstanceGroups while leaving their resources in AWS. Its value is the ARN of the Cluster's
	// role.
	abandonAnnotation = v1alpha1.Group + "/abandon"
	// reasonAbandoned is the reason of the Event that lists the remaining resources.
	reasonAbandoned = "Abandoned"
)

// isAbandoned reports whether the user chose to leave a Cluster's resources in AWS.
func isAbandoned(cluster *v1alpha1.Cluster) bool {
	role := cluster.Spec.Role
	return !cluster.DeletionTimestamp.IsZero() && role != nil && role.ARN != "" && cluster.Annotations[abandonAnnotation] == role.ARN
}

// abandonedNote describes the remaining AWS resources of an abandoned Cluster.
func abandonedNote(cluster *v1alpha1.Cluster) string {
	names := []string{model.BaseStackName(cluster.Name)}
	for slot := range int(cluster.Spec.ControlPlane.Replicas) {
		names = append(names, model.SlotStackName(cluster.Name, slot))
	}
	return fmt.Sprintf(
		"The following may remain in region %s of the account of role %s and are no longer managed: the stacks %s, and resources that the cluster's controllers created.",
		cluster.Spec.Region,
		cluster.Spec.Role.ARN,
		strings.Join(names, ", "),
	)
}

// accountUnknown returns the outcome of a deletion that cannot continue because the account is
// unknown.
func accountUnknown(cluster *v1alpha1.Cluster, err error) operatorkit.Outcome {
	if cluster.Spec.Role == nil {
		return outcomes.Failed(err)
	}
	return operatorkit.Stall("AccountUnknown", fmt.Sprintf(
		"The operator cannot assume the role %s, so the cluster's resources in its account are unknown: %s Allow the operator to assume the role. "+
			"To leave the resources in AWS, annotate the Cluster with %s=%s.",
		cluster.Spec.Role.ARN,
		awsapi.Sentence(err.Error()),
		abandonAnnotation,
		cluster.Spec.Role.ARN,
	))
}

// unlessAbandoned skips the deletion in AWS of a wrapped step for an abandoned Cluster.
type unlessAbandoned struct {
	operatorkit.Step[*v1alpha1.Cluster]
}

// EnsureDeleted deletes what the step created.
func (s unlessAbandoned) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if isAbandoned(cluster) {
		return operatorkit.Done()
	}
	return s.Step.EnsureDeleted(ctx, cluster) //nolint:wrapcheck // it is an outcome
}

// noteRelease sets the resource set in the Cluster's status and the condition of a deprecated
// Release.
func noteRelease(cluster *v1alpha1.Cluster, release *v1alpha1.Release) {
	cluster.Status.ResourceSet = release.Spec.ResourceSet
	if release.Spec.State != v1alpha1.ReleaseDeprecated {
		operatorkit.RemoveCondition(cluster, conditions.Deprecated)
		return
	}
	operatorkit.SetCondition(cluster, metav1.Condition{
		Type: conditions.Deprecated, Status: metav1.ConditionTrue, Reason: "Deprecated",
		Message: fmt.Sprintf("Release %s still works but is deprecated. Upgrade the Cluster to a newer one.", release.Name),
	})
}

// retain stops listening to accounts and regions that no Cluster other than the leaving one uses, and
// drops what is cached for their roles.
func (o *operator) retain(ctx context.Context, leaving types.UID) error {
	var clusters v1alpha1.ClusterList
	if err := o.client.List(ctx, &clusters, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Clusters: %w", err)
	}
	var targets []awsapi.Target
	for i := range clusters.Items {
		if cluster := &clusters.Items[i]; cluster.UID != leaving {
			targets = append(targets, o.targets.Of(cluster))
		}
	}
	if o.options.Events != nil {
		o.options.Events.Retain(targets)
	}
	o.options.Clients.Retain(targets)
	o.targets.Retain(targets)
	return nil
}
