package controller

import (
	"context"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/auditshipping"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// auditLogStep reports whether slots ship the audit log. It never makes a Cluster wait or fail.
type auditLogStep struct{ *operator }

// Name returns the step's name.
func (s auditLogStep) Name() string { return "audit-log" }

// EnsureCreated sets the condition.
func (s auditLogStep) EnsureCreated(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if cluster.Spec.API.Audit == nil || cluster.Spec.API.Audit.Ship == nil {
		operatorkit.RemoveCondition(cluster, conditions.AuditLog)
		return operatorkit.Done()
	}
	connection := s.options.Workload.Get(keyOf(cluster))
	if connection == nil {
		return operatorkit.Done()
	}
	if reachable, _ := connection.Reachable(); !reachable { // The condition APIReachable reports it.
		return operatorkit.Done()
	}
	slots := int(cluster.Spec.ControlPlane.Slots())
	operatorkit.SetCondition(cluster, auditshipping.Condition(slots, connection.Nodes(), s.options.Clock.Now()))
	return operatorkit.Done().RequeueAfter(auditshipping.Again)
}

// EnsureDeleted removes the condition.
func (s auditLogStep) EnsureDeleted(_ context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	operatorkit.RemoveCondition(cluster, conditions.AuditLog)
	return operatorkit.Done()
}
