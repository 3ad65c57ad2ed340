package fake

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
)

// tokenLife is how long a token lets machines join that a slot keeps; it is replaced when half of it is over.
const tokenLife = 24 * time.Hour

// keptToken is where a slot keeps the token that workers join with, in a cluster that no operator runs beside.
type keptToken struct {
	cluster     *cluster
	config      aws.Config
	bucket, key string
	group       string
}

// groupOf is the group of the token that slots of a bundle keep.
func groupOf(b *bundle.Bundle) string {
	if b.Join != nil {
		return "system:bootstrappers:cluster-operator:workers"
	}
	return "system:bootstrappers:kubeadm:default-node-token"
}

// keepToken keeps the token until the machine ends.
func (m *played) keepToken(ctx context.Context, kept *keptToken) {
	for wait := startOver; ; {
		next, err := kept.renew(ctx, m.host.options.Clock.Now())
		if err != nil {
			m.log.Info("The bootstrap token is not renewed.", "why", err.Error())
			next, wait = wait, min(2*wait, longestWait)
		}
		if !m.sleep(ctx, next) {
			return
		}
	}
}

// renew makes a token unless one of the cluster's slots has made one of which half of its life is left. It returns when to look
// again.
func (k *keptToken) renew(ctx context.Context, now time.Time) (time.Duration, error) {
	k.cluster.mu.Lock()
	until := k.cluster.tokenUntil
	k.cluster.mu.Unlock()
	if renewal := until.Add(-tokenLife / 2); now.Before(renewal) {
		return renewal.Sub(now), nil
	}
	token, err := pki.NewToken()
	if err != nil {
		return 0, err //nolint:wrapcheck // says what it is about
	}
	_, err = s3.NewFromConfig(k.config).PutObject(ctx, &s3.PutObjectInput{Bucket: &k.bucket, Key: &k.key, Body: strings.NewReader(token.Value())})
	if err != nil {
		return 0, fmt.Errorf("put the bootstrap token into the bucket: %w", err)
	}
	until = now.Add(tokenLife)
	err = k.cluster.api.Put(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: bootstrapapi.BootstrapTokenSecretPrefix + token.ID()},
		Type:       bootstrapapi.SecretTypeBootstrapToken,
		Data: map[string][]byte{
			bootstrapapi.BootstrapTokenIDKey: []byte(token.ID()), bootstrapapi.BootstrapTokenSecretKey: []byte(token.Secret()),
			bootstrapapi.BootstrapTokenExpirationKey:       []byte(until.UTC().Format(time.RFC3339)),
			bootstrapapi.BootstrapTokenUsageAuthentication: []byte("true"),
			bootstrapapi.BootstrapTokenExtraGroupsKey:      []byte(k.group),
		},
	})
	if err != nil {
		return 0, err //nolint:wrapcheck // says what it is about
	}
	k.cluster.mu.Lock()
	k.cluster.tokenUntil = until
	k.cluster.mu.Unlock()
	return tokenLife / 2, nil
}

// readToken reads the token that a worker joins with.
func readToken(ctx context.Context, config aws.Config, store *s3.Client, bucket string, b *bundle.Bundle) (string, error) {
	if b.TokenKey != "" {
		token, err := fetch(ctx, store, bucket, b.TokenKey)
		return string(token), err
	}
	answer, err := ssm.NewFromConfig(config).GetParameter(ctx, &ssm.GetParameterInput{Name: &b.TokenParameter, WithDecryption: aws.Bool(true)})
	if err != nil {
		return "", fmt.Errorf("read the bootstrap token: %w", err)
	}
	return aws.ToString(answer.Parameter.Value), nil
}
