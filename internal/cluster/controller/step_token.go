package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	// tokenLife is the validity of a bootstrap token. It is replaced after half of it, so that an
	// instance that has just read it has at least as long to use it.
	tokenLife = 24 * time.Hour
	// workloadTimeout is the timeout of a call to a workload cluster's API.
	workloadTimeout = 10 * time.Second
	// nodeTokenGroup is the group that kubeadm permits to join nodes.
	nodeTokenGroup = "system:bootstrappers:kubeadm:default-node-token"
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
	token, ok := s.tokens.Get(cluster.UID) // created before a later call failed
	if !ok {
		if token, err = pki.NewToken(); err != nil {
			return operatorkit.Fail(err)
		}
		s.tokens.Keep(cluster.UID, token)
	}
	if outcome := s.outputs.Confirmed(ctx, cluster); !outcome.IsDone() {
		return outcome
	}
	switch err := createToken(ctx, connection, token, now.Add(tokenLife)); {
	case apierrors.IsNotFound(err): // The API server creates the namespace after it has started.
		return operatorkit.Wait(startingPoll, "APIStarting", "The cluster's API is starting and has not created its namespaces yet, which the bootstrap token needs.").
			WithoutEvent()
	case err != nil:
		return outcomes.Failed(err)
	}
	if err := s.publish(ctx, cluster, token); err != nil {
		return outcomes.Failed(err)
	}
	renewal := now.Add(tokenLife / 2).UTC()
	s.tokens.Drop(cluster.UID)
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
	groups, err := s.groupsOf(ctx, keyOf(cluster))
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
		found, err := s.releaseNamed(ctx, name)
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
	if err := s.deleteParameter(ctx, cluster); err != nil {
		return outcomes.Failed(err)
	}
	known.Token, known.TokenRenewal = tokenDeleted, nil
	if err := record.Encode(status, *known); err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}

func (s tokenStep) deleteParameter(ctx context.Context, cluster *v1alpha1.Cluster) error {
	_, err := s.options.Clients.SSM(s.target(cluster)).
		DeleteParameter(ctx, &ssm.DeleteParameterInput{Name: aws.String(model.TokenParameterName(cluster.Name))})
	if err != nil && awsapi.Code(err) != "ParameterNotFound" {
		return fmt.Errorf("delete the bootstrap token: %w", err)
	}
	return nil
}

// createToken creates the token in the cluster:
// https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/
func createToken(ctx context.Context, to *workload.Cluster, token pki.Token, until time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, workloadTimeout)
	defer cancel()
	name := bootstrapapi.BootstrapTokenSecretPrefix + token.ID()
	_, err := to.Core().Secrets(metav1.NamespaceSystem).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceSystem},
		Type:       bootstrapapi.SecretTypeBootstrapToken,
		StringData: map[string]string{
			bootstrapapi.BootstrapTokenIDKey:               token.ID(),
			bootstrapapi.BootstrapTokenSecretKey:           token.Secret(),
			bootstrapapi.BootstrapTokenExpirationKey:       until.UTC().Format(time.RFC3339),
			bootstrapapi.BootstrapTokenUsageAuthentication: "true",
			bootstrapapi.BootstrapTokenUsageSigningKey:     "true",
			bootstrapapi.BootstrapTokenExtraGroupsKey:      nodeTokenGroup,
			bootstrapapi.BootstrapTokenDescriptionKey:      "Lets instances of instance groups join. Created by aws-operator.",
		},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the bootstrap token in the cluster: %w", err)
	}
	return nil
}

// publish stores the token in the parameter that workers read.
func (s tokenStep) publish(ctx context.Context, cluster *v1alpha1.Cluster, token pki.Token) error {
	in := &ssm.PutParameterInput{
		Name: aws.String(model.TokenParameterName(cluster.Name)), Value: aws.String(token.Value()), Type: types.ParameterTypeSecureString,
		Overwrite: aws.Bool(true), Description: aws.String("Bootstrap token of the workers of cluster " + cluster.Name + "."),
	}
	if key := cluster.Status.Outputs[model.OutputKey]; key != "" {
		in.KeyId = aws.String(key)
	}
	if _, err := s.options.Clients.SSM(s.target(cluster)).PutParameter(ctx, in); err != nil {
		return fmt.Errorf("store the bootstrap token: %w", err)
	}
	return nil
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
	if err := s.deleteParameter(ctx, cluster); err != nil {
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
