package credentials

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
)

// kubeconfigValidity is the validity of a kubeconfig. It is renewed when a third is left.
const kubeconfigValidity = 365 * 24 * time.Hour

// EnsureKubeconfig creates the Secret with the kubeconfig for users and tools, and renews it before
// it expires. Address is that of the API. It returns when to check it again.
func (c *Credentials) EnsureKubeconfig(ctx context.Context, cluster *v1alpha1.Cluster, address string) (time.Time, error) {
	server, now := model.APIServer(address), c.options.Clock.Now()
	known, err := c.EnsureCAs(ctx, cluster)
	if err != nil {
		return now, err
	}
	forCAPI := c.isForClusterAPI(ctx, cluster)
	if last, ok := c.kubeconfigs.Get(cluster.UID); ok && last.server == server && last.keys == known.Keys.CAs() && now.Before(last.until) &&
		last.clusterAPI == forCAPI {
		return last.until, nil
	}
	host, serverName, err := c.options.Clients.Resolver().Dial(ctx, address)
	if err != nil {
		return now, err //nolint:wrapcheck // the error names the address
	}
	cas, err := c.CAs(ctx, cluster)
	if err != nil {
		return now, err
	}
	in := pki.KubeconfigInput{
		Cluster: cluster.Name, Server: model.APIServer(host), ServerName: serverName, CommonName: cluster.Name + "-admin",
		Organisations: []string{pki.GroupAdmins}, Validity: kubeconfigValidity,
	}
	if err := c.write(ctx, cluster, cas, in); err != nil {
		return now, err
	}
	// Check often enough to renew in time: a new kubeconfig is valid for at least two thirds of its
	// lifetime.
	until := now.Add(kubeconfigValidity / 12)
	c.kubeconfigs.Keep(cluster.UID, validity{server: server, keys: known.Keys.CAs(), until: until, clusterAPI: forCAPI})
	return until, nil
}

// DeleteKubeconfig deletes the Secret with the kubeconfig.
func (c *Credentials) DeleteKubeconfig(ctx context.Context, cluster *v1alpha1.Cluster) error {
	c.kubeconfigs.Drop(cluster.UID)
	return c.deleteSecret(ctx, cluster, cluster.Name+pki.SuffixKubeconfig)
}

// write stores the kubeconfig in its Secret unless that has a valid one.
func (c *Credentials) write(ctx context.Context, cluster *v1alpha1.Cluster, cas *pki.CAs, in pki.KubeconfigInput) error {
	return c.store(ctx, cluster, func() ([]byte, error) { return cas.Kubeconfig(c.options.Clock, in) }, func(existing []byte) bool {
		return cas.KubeconfigDue(c.options.Clock, in, existing) == ""
	})
}

// store stores a new kubeconfig in its Secret unless the one that exists is good.
func (c *Credentials) store(
	ctx context.Context, cluster *v1alpha1.Cluster, kubeconfig func() ([]byte, error), good func(existing []byte) bool,
) error {
	if cluster.Status.Version == "" { // Most likely there is none.
		if err := c.make(ctx, cluster, kubeconfig); !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	secret := &corev1.Secret{}
	key := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name + pki.SuffixKubeconfig}
	err := c.options.Secrets.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return c.make(ctx, cluster, kubeconfig)
	}
	if err != nil {
		return fmt.Errorf("read the Secret %s: %w", key, err)
	}
	if !metav1.IsControlledBy(secret, cluster) {
		return fmt.Errorf("the Secret %s exists but does not belong to this Cluster; delete or rename it", key)
	}
	if c.isForClusterAPI(ctx, cluster) {
		switch {
		case secret.Type != v1alpha1.ClusterAPISecretType: // The type cannot change.
			return c.replace(ctx, cluster, secret, kubeconfig)
		case secret.Labels[v1alpha1.ClusterAPINameLabel] != cluster.Name:
			good = func([]byte) bool { return false }
		}
	}
	if good(secret.Data[pki.KubeconfigKey]) {
		return nil
	}
	data, err := kubeconfig()
	if err != nil {
		return fmt.Errorf("create the kubeconfig of cluster %s: %w", cluster.Name, err)
	}
	secret.Data = map[string][]byte{pki.KubeconfigKey: data}
	c.label(ctx, cluster, secret)
	if err := c.options.Secrets.Update(ctx, secret); err != nil {
		return fmt.Errorf("write the Secret %s: %w", key, err)
	}
	return nil
}

// make creates the Secret.
func (c *Credentials) make(ctx context.Context, cluster *v1alpha1.Cluster, kubeconfig func() ([]byte, error)) error {
	data, err := kubeconfig()
	if err != nil {
		return fmt.Errorf("create the kubeconfig of cluster %s: %w", cluster.Name, err)
	}
	secret := &corev1.Secret{Type: corev1.SecretTypeOpaque, Data: map[string][]byte{pki.KubeconfigKey: data}}
	secret.Namespace, secret.Name = cluster.Namespace, cluster.Name+pki.SuffixKubeconfig
	c.label(ctx, cluster, secret)
	reference := metav1.NewControllerRef(cluster, v1alpha1.GroupVersion.WithKind("Cluster"))
	reference.BlockOwnerDeletion = nil
	secret.OwnerReferences = []metav1.OwnerReference{*reference}
	if err := c.options.Secrets.Create(ctx, secret); err != nil {
		return fmt.Errorf("create the Secret %s: %w", client.ObjectKeyFromObject(secret), err)
	}
	return nil
}

// isForClusterAPI reports whether Cluster API reads the kubeconfig of a Cluster.
func (c *Credentials) isForClusterAPI(ctx context.Context, cluster *v1alpha1.Cluster) bool {
	return c.options.ClusterAPI != nil && c.options.ClusterAPI(ctx, cluster)
}

// label sets the labels of a new or changed Secret, and the type of a new one that Cluster API reads. Its name
// and key are those that Cluster API reads already.
// https://cluster-api.sigs.k8s.io/developer/providers/contracts/control-plane#cluster-kubeconfig-management
func (c *Credentials) label(ctx context.Context, cluster *v1alpha1.Cluster, secret *corev1.Secret) {
	if secret.Labels == nil {
		secret.Labels = map[string]string{}
	}
	secret.Labels[model.TagCluster] = cluster.Name
	if !c.isForClusterAPI(ctx, cluster) {
		return
	}
	secret.Labels[v1alpha1.ClusterAPINameLabel] = cluster.Name
	if secret.UID == "" {
		secret.Type = v1alpha1.ClusterAPISecretType
	}
}

// replace deletes the Secret, which is the Cluster's, and creates it again.
func (c *Credentials) replace(
	ctx context.Context, cluster *v1alpha1.Cluster, secret *corev1.Secret, kubeconfig func() ([]byte, error),
) error {
	only := client.Preconditions{UID: &secret.UID, ResourceVersion: &secret.ResourceVersion}
	if err := c.options.Secrets.Delete(ctx, secret, only); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("replace the Secret %s: %w", client.ObjectKeyFromObject(secret), err)
	}
	return c.make(ctx, cluster, kubeconfig)
}
