package bootstraptoken

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8stypes "k8s.io/apimachinery/pkg/types"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/cache"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
)

const (
	// nodeTokenGroup is the group that kubeadm permits to join nodes.
	nodeTokenGroup = "system:bootstrappers:kubeadm:default-node-token"
	// timeout is the timeout of a call to a workload cluster's API.
	timeout = 10 * time.Second
)

// Tokens creates and publishes bootstrap tokens.
type Tokens struct {
	ssm func(*v1alpha1.Cluster) awsapi.SSM
	// unpublished holds tokens that are created but not yet published.
	unpublished *cache.Keyed[k8stypes.UID, pki.Token]
}

// New returns tokens. SSM returns the client of a Cluster's account and region.
func New(ssm func(*v1alpha1.Cluster) awsapi.SSM) *Tokens {
	return &Tokens{ssm: ssm, unpublished: cache.NewKeyed[k8stypes.UID, pki.Token]()}
}

// Forget drops what is cached for a deleted Cluster.
func (t *Tokens) Forget(uid k8stypes.UID) { t.unpublished.Drop(uid) }

// New returns a new token of the Cluster, or the one that was created before a later call failed.
func (t *Tokens) New(cluster *v1alpha1.Cluster) (pki.Token, error) {
	token, ok := t.unpublished.Get(cluster.UID)
	if ok {
		return token, nil
	}
	token, err := pki.NewToken()
	if err != nil {
		return token, err //nolint:wrapcheck // the error names what failed
	}
	t.unpublished.Keep(cluster.UID, token)
	return token, nil
}

// Create creates the token in the cluster:
// https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/
func Create(ctx context.Context, to *workload.Cluster, token pki.Token, until time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
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

// Publish stores the token in the parameter that workers read.
func (t *Tokens) Publish(ctx context.Context, cluster *v1alpha1.Cluster, token pki.Token) error {
	in := &ssm.PutParameterInput{
		Name: aws.String(model.TokenParameterName(cluster.Name)), Value: aws.String(token.Value()), Type: types.ParameterTypeSecureString,
		Overwrite: aws.Bool(true), Description: aws.String("Bootstrap token of the workers of cluster " + cluster.Name + "."),
	}
	if key := cluster.Status.Outputs[model.OutputKey]; key != "" {
		in.KeyId = aws.String(key)
	}
	if _, err := t.ssm(cluster).PutParameter(ctx, in); err != nil {
		return fmt.Errorf("store the bootstrap token: %w", err)
	}
	t.unpublished.Drop(cluster.UID)
	return nil
}

// Delete deletes the parameter that workers read.
func (t *Tokens) Delete(ctx context.Context, cluster *v1alpha1.Cluster) error {
	_, err := t.ssm(cluster).DeleteParameter(ctx, &ssm.DeleteParameterInput{Name: aws.String(model.TokenParameterName(cluster.Name))})
	if err != nil && awsapi.Code(err) != "ParameterNotFound" {
		return fmt.Errorf("delete the bootstrap token: %w", err)
	}
	return nil
}
