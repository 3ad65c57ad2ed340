package controller

import (
	"context"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// vpcPoll is the polling interval of a VPC that does not meet the requirements.
const vpcPoll = time.Minute

// networkStep checks and tags an existing VPC.
type networkStep struct{ *operator }

// Name returns the step's name.
func (s networkStep) Name() string { return "network" }

// EnsureCreated reads an existing VPC once per generation and tags it as shared with the Cluster,
// for the load balancer controller and for users.
func (s networkStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if cluster.Spec.Network.VPC == "" {
		return operatorkit.Done()
	}
	facts, err := s.models.Existing(ctx, cluster)
	if err != nil {
		return conditions.Conclude(cluster, conditions.Network, "", "", outcomes.Failed(err))
	}
	if problem := facts.DNSProblem(model.ZoneName(cluster.Name), model.AllowsDNSServers(cluster)); problem != "" &&
		len(cluster.Status.Outputs) == 0 {
		s.models.Recheck(cluster.UID) // The user fixes the VPC, not the Cluster.
		return conditions.Conclude(
			cluster,
			conditions.Network,
			"",
			"",
			operatorkit.Wait(vpcPoll, "VPCWithoutDNS", problem+" Nothing was created.").Degraded(),
		)
	}
	if err := s.models.Tag(ctx, cluster); err != nil {
		return conditions.Conclude(cluster, conditions.Network, "", "", outcomes.Failed(err))
	}
	return operatorkit.Done()
}

// EnsureDeleted removes the operator's tags from an existing VPC.
func (s networkStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if cluster.Spec.Network.VPC == "" || cluster.Status.Account == "" {
		return operatorkit.Done()
	}
	if err := s.models.Untag(ctx, cluster); err != nil {
		return outcomes.Failed(err)
	}
	return operatorkit.Done()
}
