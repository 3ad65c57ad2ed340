package controller

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/bootstraptoken"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	// tokenLife is the validity of a bootstrap token. It is replaced after half of it, so that an
	// instance that has just read it has at least as long to use it.
	tokenLife = 24 * time.Hour
)

// startingPoll is the polling interval while a starting API server creates its namespaces.
const startingPoll = 250 * time.Millisecond

// tokenStep manages a bootstrap token in the cluster and in an SSM parameter that only workers
// read, unless the slots manage one.
type tokenStep struct{ *operator }

// Name returns the step's name.
func (s tokenStep) Name() string { return "token" }

// EnsureCreated creates a token if there is none or half of its validity is over.
func (s tokenStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	status, now := record.FindOrAdd(cluster, model.BaseStackName(cluster.Name)), s.options.Clock.Now()
	known, err := record.Decode(status)
	if err != nil {
		return operatorkit.Fail(err)
	}
	kept, err := s.slotsKeepToken(ctx, cluster)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if kept {
		return s.handOver(ctx, cluster, status, &known)
	}
	if known.TokenRenewal != nil && now.Before(*known.TokenRenewal) {
		return operatorkit.Done().RequeueAfter(known.TokenRenewal.Sub(now))
	}
	connection := s.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return operatorkit.Wait(outcomes.EventPoll, "NotConnected", "The operator is not connected to the cluster's API yet.")
	}
	token, err := s.tokens.New(cluster)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if outcome := s.outputs.Confirmed(ctx, cluster); !outcome.IsDone() {
		return outcome
	}
	switch err := bootstraptoken.Create(ctx, connection, token, now.Add(tokenLife)); {
	case apierrors.IsNotFound(err): // The API server creates the namespace after it has started.
		return operatorkit.Wait(startingPoll, "APIStarting", "The cluster's API is starting and has not created its namespaces yet, which the bootstrap token needs.").
			WithoutEvent()
	case err != nil:
		return outcomes.Failed(err)
	}
	if err := s.tokens.Publish(ctx, cluster, token); err != nil {
		return outcomes.Failed(err)
	}
	renewal := now.Add(tokenLife / 2).UTC()
	known.Token, known.TokenRenewal = token.ID(), &renewal
	if err := record.Encode(status, known); err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done().RequeueAfter(tokenLife / 2)
}

// slotsKeepToken reports whether no instance of the Cluster's groups joins with a token that the
// operator manages: in the resource sets of the Cluster's and the groups' Releases, the slots
// manage it.
func (s tokenStep) slotsKeepToken(ctx context.Context, cluster *v1alpha1.Cluster) (bool, error) {
	groups, err := s.objects.GroupsOf(ctx, keyOf(cluster))
	if err != nil {
		return false, err
	}
	names := []string{cluster.Spec.Release}
	if cluster.Status.Release != "" {
		names = append(names, cluster.Status.Release) // The groups use it until the control plane runs the other.
	}
	for i := range groups {
		known, err := record.Decode(groups[i].Status.Stack)
		if err != nil {
			return false, err
		}
		past := known.History()
		for _, made := range []*record.Machines{past.Now, past.Next, past.Prior} {
			if made != nil {
				names = append(names, made.Release)
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		found, err := s.objects.ReleaseNamed(ctx, name)
		if apierrors.IsNotFound(err) {
			return false, nil // The needs of its instances are unknown.
		}
		if err != nil {
			return false, err
		}
		set, err := release.Set(found.Spec.ResourceSet)
		if err != nil || !set.Features.SlotsKeepToken {
			return false, nil //nolint:nilerr // rendering reports an unknown set
		}
	}
	return true, nil
}

// handOver leaves the token to the slots: it deletes the operator's parameter, and the operator's
// token expires.
func (s tokenStep) handOver(
	ctx context.Context,
	cluster *v1alpha1.Cluster,
	status *v1alpha1.StackStatus,
	known *record.Stack,
) operatorkit.Outcome {
	if known.TokenRenewal == nil {
		return operatorkit.Done()
	}
	if err := s.tokens.Delete(ctx, cluster); err != nil {
		return outcomes.Failed(err)
	}
	known.Token, known.TokenRenewal = tokenDeleted, nil
	if err := record.Encode(status, *known); err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}

// EnsureDeleted deletes the SSM parameter. The token itself is deleted with the cluster.
func (s tokenStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	status := record.Find(cluster, model.BaseStackName(cluster.Name))
	known, err := record.Decode(status)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if status == nil || len(cluster.Status.Outputs) == 0 || known.Token == tokenDeleted {
		return operatorkit.Done() // Tokens are created after the base stack.
	}
	if outcome := s.outputs.Confirmed(ctx, cluster); !outcome.IsDone() {
		return outcome
	}
	if err := s.tokens.Delete(ctx, cluster); err != nil {
		return outcomes.Failed(err)
	}
	known.Token, known.TokenRenewal = tokenDeleted, nil
	if err := record.Encode(status, known); err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}

// tokenDeleted replaces the token's ID once the parameter is deleted.
const tokenDeleted = "deleted"
