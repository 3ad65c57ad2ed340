package controller

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
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

// findAgain finds the account of a Cluster that is being deleted, if its status was lost or never
// written. In an account that the operator was never let into it has made nothing: then the account
// stays unknown, and there is nothing to delete in AWS.
func (s accountStep) findAgain(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if outcome := s.mayAssume(cluster); !outcome.IsDone() {
		if cluster.Status.Account == "" { // The operator never acted with the role.
			return operatorkit.Done()
		}
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
		return operatorkit.Done()
	}
	cluster.Status.Account = account
	return operatorkit.Done()
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
