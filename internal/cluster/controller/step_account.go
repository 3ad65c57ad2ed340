package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// accountStep finds out where the Cluster is made and listens to what happens there.
type accountStep struct{ *operator }

// Name returns the step's name.
func (s accountStep) Name() string { return "account" }

// EnsureCreated finds out whose account the Cluster is made in.
func (s accountStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	return s.find(ctx, cluster)
}

// EnsureDeleted ends the deletion: nothing of the Cluster is left to be remembered.
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

// find sets the account in the Cluster's status and listens to its events.
func (s accountStep) find(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if outcome := s.mayAssume(cluster); !outcome.IsDone() {
		return outcome
	}
	target := s.target(cluster)
	account, err := s.account(ctx, cluster, target)
	if explained := awsapi.Explain(err); err != nil && explained.Transient() { // It says nothing about the role.
		return operatorkit.Fail(err).Explain(explained.Reason, explained.Message)
	}
	if err != nil {
		return failed(err).Explain("RoleNotAssumable", fmt.Sprintf("The operator cannot act in the Cluster's account: %s", err))
	}
	switch cluster.Status.Account {
	case account:
	case "":
		cluster.Status.Account = account
	default:
		return operatorkit.Stall("AccountChanged", fmt.Sprintf(
			"The Cluster stands in account %s, but its role or the operator's credentials are of account %s; it cannot move. Set them back.", cluster.Status.Account, account))
	}
	if s.options.Events != nil {
		s.options.Events.Listen(target)
	}
	return operatorkit.Done()
}

// findAgain finds the account of a Cluster that is being deleted, if its status was lost or never written. Without the account nobody
// knows what is left there, so that the deletion waits until the role can be assumed, or a person says that it is abandoned.
func (s accountStep) findAgain(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if isAbandoned(cluster) {
		return operatorkit.Done()
	}
	if outcome := s.mayAssume(cluster); !outcome.IsDone() {
		return outcome
	}
	if cluster.Status.Account != "" {
		return operatorkit.Done()
	}
	account, err := s.account(ctx, cluster, s.target(cluster))
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
	// abandonAnnotation on a Cluster that is being deleted lets it, and its InstanceGroups, go without what they have in AWS. Its value
	// is the ARN of the role by which that could be reached.
	abandonAnnotation = v1alpha1.Group + "/abandon"
	// reasonAbandoned is the reason of the Event that says what was left.
	reasonAbandoned = "Abandoned"
)

// isAbandoned reports whether a person said that what a Cluster has in AWS is to be left there.
func isAbandoned(cluster *v1alpha1.Cluster) bool {
	role := cluster.Spec.Role
	return !cluster.DeletionTimestamp.IsZero() && role != nil && role.ARN != "" && cluster.Annotations[abandonAnnotation] == role.ARN
}

// abandonedNote says what is left in AWS of an abandoned Cluster.
func abandonedNote(cluster *v1alpha1.Cluster) string {
	names := []string{model.BaseStackName(cluster.Name)}
	for slot := range int(cluster.Spec.ControlPlane.Replicas) {
		names = append(names, model.SlotStackName(cluster.Name, slot))
	}
	return fmt.Sprintf("Left in region %s of the account of role %s, and never looked at again: the stacks %s, and what the cluster made by itself, if they are there.",
		cluster.Spec.Region, cluster.Spec.Role.ARN, strings.Join(names, ", "))
}

// accountUnknown says why a deletion cannot go on.
func accountUnknown(cluster *v1alpha1.Cluster, err error) operatorkit.Outcome {
	if cluster.Spec.Role == nil {
		return failed(err)
	}
	return operatorkit.Stall("AccountUnknown", fmt.Sprintf(
		"The role %s cannot be assumed, so it is not known what the cluster has in its account: %s Let the operator assume the role. "+
			"To leave what is there, annotate the Cluster with %s=%s.", cluster.Spec.Role.ARN, awsapi.Sentence(err.Error()), abandonAnnotation, cluster.Spec.Role.ARN))
}

// unlessAbandoned leaves out, of an abandoned Cluster, the part of a step that deletes things in AWS.
type unlessAbandoned struct {
	operatorkit.Step[*v1alpha1.Cluster]
}

// EnsureDeleted deletes what the step made.
func (s unlessAbandoned) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if isAbandoned(cluster) {
		return operatorkit.Done()
	}
	return s.Step.EnsureDeleted(ctx, cluster) //nolint:wrapcheck // it is an outcome
}

// noteRelease says which templates the Cluster is made from and whether its Release is old.
func noteRelease(cluster *v1alpha1.Cluster, release *v1alpha1.Release) {
	cluster.Status.ResourceSet = release.Spec.ResourceSet
	if release.Spec.State != v1alpha1.ReleaseDeprecated {
		operatorkit.RemoveCondition(cluster, conditionDeprecated)
		return
	}
	operatorkit.SetCondition(cluster, metav1.Condition{
		Type: conditionDeprecated, Status: metav1.ConditionTrue, Reason: "Deprecated",
		Message: fmt.Sprintf("Release %s still works but is deprecated; move the Cluster to a newer one.", release.Name),
	})
}

// awaitAgain is when to look again at what events normally tell of.
const awaitAgain = time.Minute
