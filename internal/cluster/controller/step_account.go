package controller

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	identityv1alpha1 "github.com/aws-operator/aws-operator/api/identity/v1alpha1"
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
func (s accountStep) EnsureDeleted(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if isAbandoned(cluster) {
		s.recorder.Eventf(cluster, nil, corev1.EventTypeWarning, reasonAbandoned, "Delete", "%s", abandonedNote(cluster))
	}
	s.forget(cluster.UID)
	if s.options.Events != nil {
		s.options.Events.Release(string(cluster.UID))
	}
	return operatorkit.Done()
}

// find sets the account in the Cluster's status and subscribes to its events.
func (s accountStep) find(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if outcome := s.isWhereItWas(cluster); !outcome.IsDone() {
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
		s.options.Events.Use(string(cluster.UID), target)
	}
	return operatorkit.Done()
}

// findAgain determines the account and the outputs of a Cluster that is being deleted if its status was
// lost or never written. Without the account, the remaining resources are unknown, so the deletion waits
// until the role can be assumed or the user abandons the Cluster.
func (s accountStep) findAgain(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if isAbandoned(cluster) {
		return operatorkit.Done()
	}
	if outcome := s.isWhereItWas(cluster); !outcome.IsDone() {
		return outcome
	}
	if cluster.Status.Account == "" {
		account, err := s.targets.Account(ctx, cluster, s.targets.Of(cluster))
		if err != nil {
			if explained := awsapi.Explain(err); explained.Transient() {
				return operatorkit.Fail(err).Explain(explained.Reason, explained.Message)
			}
			return accountUnknown(cluster, err)
		}
		cluster.Status.Account = account
	}
	if err := s.outputs.Find(ctx, cluster); err != nil {
		return outcomes.Failed(err)
	}
	return operatorkit.Done()
}

const (
	// abandonAnnotation on a Cluster that is being deleted permits removing it and its
	// InstanceGroups while leaving their resources in AWS. Its value is the ARN of the Cluster's
	// role, the name of its AWSIdentity, or its account.
	abandonAnnotation = v1alpha1.Group + "/abandon"
	// reasonAbandoned is the reason of the Event that lists the remaining resources.
	reasonAbandoned = "Abandoned"
)

// isAbandoned reports whether the user chose to leave a Cluster's resources in AWS.
func isAbandoned(cluster *v1alpha1.Cluster) bool {
	value := cluster.Annotations[abandonAnnotation]
	return !cluster.DeletionTimestamp.IsZero() && value != "" && value == abandonValue(cluster)
}

// abandonValue is the value of the annotation that abandons a Cluster: it names what the operator
// cannot use, so that it cannot be set by mistake. It is empty for a Cluster whose account is unknown.
func abandonValue(cluster *v1alpha1.Cluster) string {
	account, _, _ := strings.Cut(cluster.Annotations[identityv1alpha1.CreatedInAnnotation], "/")
	switch role := cluster.Spec.Role; {
	case role != nil && role.ARN != "":
		return role.ARN
	default:
		return cmp.Or(cluster.Spec.Identity, cluster.Status.Account, account)
	}
}

// credentialsOf names the credentials with which the operator acts for a Cluster.
func credentialsOf(cluster *v1alpha1.Cluster) string {
	switch role := cluster.Spec.Role; {
	case role != nil && role.ARN != "":
		return "role " + role.ARN
	case cluster.Spec.Identity != "":
		return "AWSIdentity " + cluster.Spec.Identity
	default:
		return "the namespace's AWSIdentity or the operator's own credentials"
	}
}

// abandonedNote describes the remaining AWS resources of an abandoned Cluster.
func abandonedNote(cluster *v1alpha1.Cluster) string {
	names := []string{model.BaseStackName(cluster.Name)}
	for slot := range int(cluster.Spec.ControlPlane.Slots()) {
		names = append(names, model.SlotStackName(cluster.Name, slot))
	}
	if model.WantsEKSAddons(cluster) {
		names = append(names, model.EKSAddonsStackName(cluster.Name))
	}
	return fmt.Sprintf(
		"The following may remain in region %s of the account of %s and are no longer managed: the stacks %s, and resources that the cluster's controllers created.",
		cluster.Spec.Region,
		credentialsOf(cluster),
		strings.Join(names, ", "),
	)
}

// accountUnknown returns the outcome of a deletion that cannot continue because the account is
// unknown.
func accountUnknown(cluster *v1alpha1.Cluster, err error) operatorkit.Outcome {
	if cluster.Spec.Role == nil && cluster.Spec.Identity == "" {
		return outcomes.Failed(err)
	}
	return operatorkit.Stall("AccountUnknown", fmt.Sprintf(
		"The operator cannot use %s, so the cluster's resources in its account are unknown: %s Allow the operator to assume the role. "+
			"To leave the resources in AWS, annotate the Cluster with %s=%s.",
		credentialsOf(cluster),
		awsapi.Sentence(err.Error()),
		abandonAnnotation,
		abandonValue(cluster),
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
