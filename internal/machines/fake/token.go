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
	"k8s.io/cluster-bootstrap/token/util"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
)

// tokenLife is the lifetime of a token that a slot maintains; slots replace it after half of that.
const tokenLife = 24 * time.Hour

// keptToken is where a slot stores the token for workers, in a cluster without an operator.
type keptToken struct {
	cluster     *cluster
	config      aws.Config
	bucket, key string
	group       string
}

// groupOf returns the group of the token that slots of a bundle maintain.
func groupOf(b *bundle.Bundle) string {
	if b.Join != nil {
		return "system:bootstrappers:cluster-operator:workers"
	}
	return "system:bootstrappers:kubeadm:default-node-token"
}

// keepToken maintains the token until the machine ends.
func (m *fakeMachine) keepToken(ctx context.Context, kept *keptToken) {
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

// renew replaces the cluster's token if less than half of its lifetime is left, and stores the
// token in the bucket, as nodeup does. It returns the time until the next renewal.
func (k *keptToken) renew(ctx context.Context, now time.Time) (time.Duration, error) {
	token, renewal, err := k.cluster.keepToken(k.group, now)
	if err != nil {
		return 0, err
	}
	_, err = s3.NewFromConfig(k.config).PutObject(ctx, &s3.PutObjectInput{Bucket: &k.bucket, Key: &k.key, Body: strings.NewReader(token)})
	if err != nil {
		return 0, fmt.Errorf("put the bootstrap token into the bucket: %w", err)
	}
	return renewal.Sub(now), nil
}

// keepToken returns the cluster's token and the time of its renewal.
func (c *cluster) keepToken(group string, now time.Time) (string, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if renewal := c.tokenUntil.Add(-tokenLife / 2); now.Before(renewal) {
		return c.token, renewal, nil
	}
	token, err := util.GenerateBootstrapToken()
	if err != nil {
		return "", now, fmt.Errorf("create a bootstrap token: %w", err)
	}
	id, secret, _ := strings.Cut(token, ".")
	until := now.Add(tokenLife)
	err = c.api.Put(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: bootstrapapi.BootstrapTokenSecretPrefix + id},
		Type:       bootstrapapi.SecretTypeBootstrapToken,
		Data: map[string][]byte{
			bootstrapapi.BootstrapTokenIDKey: []byte(id), bootstrapapi.BootstrapTokenSecretKey: []byte(secret),
			bootstrapapi.BootstrapTokenExpirationKey:       []byte(until.UTC().Format(time.RFC3339)),
			bootstrapapi.BootstrapTokenUsageAuthentication: []byte("true"),
			bootstrapapi.BootstrapTokenExtraGroupsKey:      []byte(group),
		},
	})
	if err != nil {
		return token, now, err //nolint:wrapcheck // has enough context
	}
	c.token, c.tokenUntil = token, until
	return token, until.Add(-tokenLife / 2), nil
}

// readToken reads the token with which a worker joins.
func readToken(ctx context.Context, config aws.Config, store *s3.Client, bucket string, b *bundle.Bundle) (string, error) {
	if b.TokenKey != "" {
		token, err := fetch(ctx, store, bucket, b.TokenKey)
		return string(token), err
	}
	answer, err := ssm.NewFromConfig(config).
		GetParameter(ctx, &ssm.GetParameterInput{Name: &b.TokenParameter, WithDecryption: aws.Bool(true)})
	if err != nil {
		return "", fmt.Errorf("read the bootstrap token: %w", err)
	}
	return aws.ToString(answer.Parameter.Value), nil
}
