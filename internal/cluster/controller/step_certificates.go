package controller

import (
	"context"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/certificates"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// certificatesStep reports when certificates of the Cluster expire. It never makes a Cluster wait or fail.
type certificatesStep struct{ *operator }

// Name returns the step's name.
func (s certificatesStep) Name() string { return "certificates" }

// EnsureCreated writes the times into the status, and whether one is soon into the condition.
func (s certificatesStep) EnsureCreated(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	status := certificatesOf(cluster)
	if connection := s.options.Workload.Get(keyOf(cluster)); connection != nil {
		if expiry := certificates.OfSlots(connection.Nodes()); expiry != nil {
			status.SlotsExpire = expiry
		}
	}
	operatorkit.SetCondition(cluster, certificates.Condition(cluster.Name, status, s.options.Clock.Now()))
	return operatorkit.Done()
}

// EnsureDeleted removes the condition.
func (s certificatesStep) EnsureDeleted(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	operatorkit.RemoveCondition(cluster, conditions.Certificates)
	return operatorkit.Done()
}

// certificatesOf returns the part of the status about certificates, which it adds if need be.
func certificatesOf(cluster *v1alpha1.Cluster) *v1alpha1.CertificatesStatus {
	if cluster.Status.Certificates == nil {
		cluster.Status.Certificates = &v1alpha1.CertificatesStatus{}
	}
	return cluster.Status.Certificates
}
