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
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

const (
	// tokenLife is how long a bootstrap token lets machines join. It is replaced when half of it is over,
	// so that a machine that has just read it has as long to use it.
	tokenLife = 24 * time.Hour
	// workloadTimeout bounds a call of a workload cluster's API.
	workloadTimeout = 10 * time.Second
	// nodeTokenGroup is the group that kubeadm lets join as nodes.
	nodeTokenGroup = "system:bootstrappers:kubeadm:default-node-token"
)

// startingAgain is when to look again whether an API server that has just started has made its namespaces.
const startingAgain = 250 * time.Millisecond

// tokenStep keeps a bootstrap token in the cluster and in an SSM parameter that only workers read, where slots do not keep one.
type tokenStep struct{ *operator }

// Name returns the step's name.
func (s tokenStep) Name() string { return "token" }

// EnsureCreated makes a token when there is none or half of its life is over.
func (s tokenStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	status, now := stackOf(cluster, model.BaseStackName(cluster.Name)), s.options.Clock.Now()
	known, err := recall(status)
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
		return operatorkit.Wait(awaitAgain, "NotConnected", "The cluster's API is not connected to yet.")
	}
	token, ok := s.tokens.get(cluster.UID) // made before, but something after it went wrong
	if !ok {
		if token, err = pki.NewToken(); err != nil {
			return operatorkit.Fail(err)
		}
		s.tokens.keep(cluster.UID, token)
	}
	if outcome := s.confirmed(ctx, cluster); !outcome.IsDone() {
		return outcome
	}
	switch err := createToken(ctx, connection, token, now.Add(tokenLife)); {
	case apierrors.IsNotFound(err): // The namespace, which an API server makes once it has started.
		return operatorkit.Wait(startingAgain, "APIStarting", "The cluster's API has just started and makes its namespaces; the bootstrap token comes next.").WithoutEvent()
	case err != nil:
		return failed(err)
	}
	if err := s.publish(ctx, cluster, token); err != nil {
		return failed(err)
	}
	renewal := now.Add(tokenLife / 2).UTC()
	s.tokens.drop(cluster.UID)
	known.Token, known.TokenRenewal = token.ID(), &renewal
	if err := keep(status, known); err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done().RequeueAfter(tokenLife / 2)
}

// slotsKeepToken reports whether no machine of the Cluster's groups joins with a token that the operator keeps: the resource sets of its
// Release, and of those that groups are made from, have slots do it.
func (s tokenStep) slotsKeepToken(ctx context.Context, cluster *v1alpha1.Cluster) (bool, error) {
	groups, err := s.groupsOf(ctx, keyOf(cluster))
	if err != nil {
		return false, err
	}
	names := []string{cluster.Spec.Release}
	if cluster.Status.Release != "" {
		names = append(names, cluster.Status.Release) // Groups are made from it until the control plane is of the other.
	}
	for i := range groups {
		known, err := recall(groups[i].Status.Stack)
		if err != nil {
			return false, err
		}
		past := known.historyOf()
		for _, made := range []*machines{past.Now, past.Next, past.Prior} {
			if made != nil {
				names = append(names, made.Release)
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		found, err := s.releaseNamed(ctx, name)
		if apierrors.IsNotFound(err) {
			return false, nil // What its machines need is not known.
		}
		if err != nil {
			return false, err
		}
		set, err := release.Set(found.Spec.ResourceSet)
		if err != nil || !set.Features.SlotsKeepToken {
			return false, nil //nolint:nilerr // a set that is not known is reported where it is rendered
		}
	}
	return true, nil
}

// handOver leaves the token to the slots: the parameter of one that the operator kept is deleted, and the token ends by itself.
func (s tokenStep) handOver(ctx context.Context, cluster *v1alpha1.Cluster, status *v1alpha1.StackStatus, known *remembered) operatorkit.Outcome {
	if known.TokenRenewal == nil {
		return operatorkit.Done()
	}
	if err := s.deleteParameter(ctx, cluster); err != nil {
		return failed(err)
	}
	known.Token, known.TokenRenewal = tokenDeleted, nil
	if err := keep(status, *known); err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}

func (s tokenStep) deleteParameter(ctx context.Context, cluster *v1alpha1.Cluster) error {
	_, err := s.options.Clients.SSM(s.target(cluster)).DeleteParameter(ctx, &ssm.DeleteParameterInput{Name: aws.String(model.TokenParameterName(cluster.Name))})
	if err != nil && awsapi.Code(err) != "ParameterNotFound" {
		return fmt.Errorf("delete the bootstrap token: %w", err)
	}
	return nil
}

// createToken makes the token known in the cluster, as
// https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/ has it.
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
			bootstrapapi.BootstrapTokenDescriptionKey:      "Lets the machines of instance groups join; made by aws-operator.",
		},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the bootstrap token in the cluster: %w", err)
	}
	return nil
}

// publish puts the token where workers read it.
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

// EnsureDeleted deletes the SSM parameter. The token itself goes with the cluster.
func (s tokenStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	status := knownStack(cluster, model.BaseStackName(cluster.Name))
	known, err := recall(status)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if status == nil || len(cluster.Status.Outputs) == 0 || known.Token == tokenDeleted {
		return operatorkit.Done() // No token is made before the base stack is there.
	}
	if outcome := s.confirmed(ctx, cluster); !outcome.IsDone() {
		return outcome
	}
	if err := s.deleteParameter(ctx, cluster); err != nil {
		return failed(err)
	}
	known.Token, known.TokenRenewal = tokenDeleted, nil
	if err := keep(status, known); err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}

// tokenDeleted stands for the token's ID once the parameter is deleted.
const tokenDeleted = "deleted"
