package credentials

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// deleteSecret deletes a Secret if it belongs to the Cluster.
func (c *Credentials) deleteSecret(ctx context.Context, cluster *v1alpha1.Cluster, name string) error {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	secret.Namespace, secret.Name = cluster.Namespace, name
	err := c.options.Secrets.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(secret, cluster) {
		return nil
	}
	if err == nil {
		err = c.options.Secrets.Delete(ctx, secret)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the Secret %s: %w", name, err)
	}
	return nil
}

// CAs returns the Cluster's CAs. It caches them only while the Cluster is created, so that memory
// does not hold the keys of all clusters.
func (c *Credentials) CAs(ctx context.Context, cluster *v1alpha1.Cluster) (*pki.CAs, error) {
	if known, ok := c.cas.Get(cluster.UID); ok {
		return known, nil
	}
	cas, err := pki.Ensure(ctx, c.options.Secrets, c.options.Clock, cluster)
	if err != nil {
		return nil, err //nolint:wrapcheck // the error names the Secret
	}
	c.cas.Keep(cluster.UID, cas)
	return cas, nil
}

// Failed returns the outcome for CAs that the user must restore, or that could not be read.
func Failed(err error) operatorkit.Outcome {
	if broken, ok := errors.AsType[*pki.BrokenError](err); ok {
		return operatorkit.Stall("CertificateAuthorityBroken", outcomes.Capital(broken.Error())+".")
	}
	return operatorkit.Fail(err)
}

// EnsureCAs creates the Cluster's CAs if they do not exist, and returns what is public of them. Those of a
// control plane that EKS runs are EKS's own.
func (c *Credentials) EnsureCAs(ctx context.Context, cluster *v1alpha1.Cluster) (CAs, error) {
	if model.UsesEKS(cluster) {
		return CAs{}, nil
	}
	if known, ok := c.knownCAs.Get(cluster.UID); ok {
		return known, nil
	}
	cas, err := c.CAs(ctx, cluster)
	if err != nil {
		return CAs{}, err
	}
	known := CAs{
		Expiry: cas.Expiry(), Keys: cas.Keys(), Certificate: cas.CACertificate(), Origin: cas.Origin(), Fingerprint: cas.Fingerprint(),
		Rotation: cas.Rotation(), Encryption: cas.Encryption(),
	}
	c.knownCAs.Keep(cluster.UID, known)
	return known, nil
}

// Rotate begins a rotation of the Cluster's CAs for a request.
func (c *Credentials) Rotate(ctx context.Context, cluster *v1alpha1.Cluster, request string) error {
	c.Changed(cluster.UID)
	return pki.Rotate(ctx, c.options.Secrets, c.options.Clock, cluster, request)
}

// Advance moves the rotation of the Cluster's CAs from one stage to another.
func (c *Credentials) Advance(ctx context.Context, cluster *v1alpha1.Cluster, from, to v1alpha1.RotationStage) error {
	c.Changed(cluster.UID)
	return pki.Advance(ctx, c.options.Secrets, c.options.Clock, cluster, from, to)
}

// AdvanceEncryption changes the state of the Cluster's spec.api.encryption, if it is in a stage.
func (c *Credentials) AdvanceEncryption(
	ctx context.Context, cluster *v1alpha1.Cluster, from v1alpha1.EncryptionStage, to pki.Encryption,
) error {
	c.Changed(cluster.UID)
	return pki.AdvanceEncryption(ctx, c.options.Secrets, c.options.Clock, cluster, from, to)
}

// Delete deletes all Secrets of the Cluster.
func (c *Credentials) Delete(ctx context.Context, cluster *v1alpha1.Cluster) error {
	c.knownCAs.Drop(cluster.UID)
	c.cas.Drop(cluster.UID)
	for _, suffix := range []string{
		pki.SuffixKubeconfig, pki.SuffixRotation, pki.SuffixServiceAccount, pki.SuffixFrontProxyCA, pki.SuffixEtcdCA, pki.SuffixCA,
	} {
		if err := c.deleteSecret(ctx, cluster, cluster.Name+suffix); err != nil {
			return err
		}
	}
	return nil
}
