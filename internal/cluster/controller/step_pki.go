package controller

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// pkiStep manages the Cluster's CAs in Secrets. They are created before anything in AWS, so that a
// CA that is missing later is known to be lost and never silently replaced.
type pkiStep struct{ *operator }

// Name returns the step's name.
func (s pkiStep) Name() string { return "pki" }

// EnsureCreated creates the CAs if they do not exist.
func (s pkiStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if _, ok := s.knownCAs.Get(cluster.UID); ok {
		return operatorkit.Done()
	}
	if _, err := s.casOf(ctx, cluster); err != nil {
		return brokenPKI(err)
	}
	s.knownCAs.Keep(cluster.UID, struct{}{})
	return operatorkit.Done()
}

// EnsureDeleted deletes all Secrets of the Cluster.
func (s pkiStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	s.knownCAs.Drop(cluster.UID)
	s.cas.Drop(cluster.UID)
	for _, suffix := range []string{
		pki.SuffixKubeconfig, pki.SuffixServiceAccount, pki.SuffixFrontProxyCA, pki.SuffixEtcdCA, pki.SuffixCA,
	} {
		if err := s.deleteSecret(ctx, cluster, cluster.Name+suffix); err != nil {
			return operatorkit.Fail(err)
		}
	}
	return operatorkit.Done()
}

// deleteSecret deletes a Secret if it belongs to the Cluster.
func (o *operator) deleteSecret(ctx context.Context, cluster *v1alpha1.Cluster, name string) error {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	secret.Namespace, secret.Name = cluster.Namespace, name
	err := o.direct.Get(ctx, keyOf(secret), secret)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(secret, cluster) {
		return nil
	}
	if err == nil {
		err = o.direct.Delete(ctx, secret)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the Secret %s: %w", name, err)
	}
	return nil
}

// casOf returns the Cluster's CAs. It caches them only while the Cluster is created, so
// that memory does not hold the keys of all clusters.
func (o *operator) casOf(ctx context.Context, cluster *v1alpha1.Cluster) (*pki.CAs, error) {
	if known, ok := o.cas.Get(cluster.UID); ok {
		return known, nil
	}
	cas, err := pki.Ensure(ctx, o.direct, o.options.Clock, cluster)
	if err != nil {
		return nil, err //nolint:wrapcheck // the error names the Secret
	}
	o.cas.Keep(cluster.UID, cas)
	return cas, nil
}

// brokenPKI returns the outcome for CAs that the user must restore, or that could not be read.
func brokenPKI(err error) operatorkit.Outcome {
	if broken, ok := errors.AsType[*pki.BrokenError](err); ok {
		return operatorkit.Stall("CertificateAuthorityBroken", outcomes.Capital(broken.Error())+".")
	}
	return operatorkit.Fail(err)
}
