package controller

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/credentials"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// pkiStep manages the Cluster's CAs in Secrets. They are created before anything in AWS, so that a
// CA that is missing later is known to be lost and never silently replaced.
type pkiStep struct{ *operator }

// Name returns the step's name.
func (s pkiStep) Name() string { return "pki" }

// EnsureCreated creates the CAs if they do not exist.
func (s pkiStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	known, err := s.credentials.EnsureCAs(ctx, cluster)
	if err != nil {
		return credentials.Failed(err)
	}
	status := certificatesOf(cluster)
	status.CAsExpire = new(metav1.NewTime(known.Expiry))
	s.reportRotation(status, known.Rotation)
	return operatorkit.Done()
}

// EnsureDeleted deletes all Secrets of the Cluster.
func (s pkiStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if err := s.credentials.Delete(ctx, cluster); err != nil {
		return operatorkit.Fail(err)
	}
	return operatorkit.Done()
}
