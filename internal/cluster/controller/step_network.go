package controller

import (
	"context"
	"slices"
	"time"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/conditions"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/existing"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// network is AWS's description of an existing VPC for one generation of a Cluster.
type network struct {
	generation int64
	// revision counts the observed changes.
	revision int
	facts    *model.ExistingVPC
	tagged   bool
}

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
	facts, err := s.existing(ctx, cluster)
	if err != nil {
		return conditions.Conclude(cluster, conditions.Network, "", "", outcomes.Failed(err))
	}
	if problem := facts.DNSProblem(model.ZoneName(cluster.Name), model.AllowsDNSServers(cluster)); problem != "" &&
		len(cluster.Status.Outputs) == 0 {
		known, _ := s.networks.Get(cluster.UID)
		known.generation = 0 // Makes the next reconcile ask again: the user fixes the VPC, not the Cluster.
		s.networks.Keep(cluster.UID, known)
		return conditions.Conclude(
			cluster,
			conditions.Network,
			"",
			"",
			operatorkit.Wait(vpcPoll, "VPCWithoutDNS", problem+" Nothing was created.").Degraded(),
		)
	}
	known, _ := s.networks.Get(cluster.UID)
	if known.tagged {
		return operatorkit.Done()
	}
	if err := s.adopt(ctx, cluster); err != nil {
		return conditions.Conclude(cluster, conditions.Network, "", "", outcomes.Failed(err))
	}
	known.tagged = true
	s.networks.Keep(cluster.UID, known)
	return operatorkit.Done()
}

// EnsureDeleted removes the operator's tags from an existing VPC.
func (s networkStep) EnsureDeleted(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	if cluster.Spec.Network.VPC == "" || cluster.Status.Account == "" {
		return operatorkit.Done()
	}
	if err := s.abandon(ctx, cluster); err != nil {
		return outcomes.Failed(err)
	}
	return operatorkit.Done()
}

// existing returns the description of the Cluster's existing VPC, nil if the Cluster gets a new
// one.
func (o *operator) existing(ctx context.Context, cluster *v1alpha1.Cluster) (*model.ExistingVPC, error) {
	if cluster.Spec.Network.VPC == "" {
		return nil, nil //nolint:nilnil // nil stands for a new VPC
	}
	known, ok := o.networks.Get(cluster.UID)
	if ok && known.generation == cluster.Generation {
		return known.facts, nil
	}
	facts, err := existing.VPC(ctx, o.options.Clients.EC2(o.target(cluster)), cluster.Spec.Network.VPC)
	if err != nil {
		return nil, err
	}
	next := network{generation: cluster.Generation, revision: known.revision, facts: facts}
	if known.facts == nil || !sameVPC(known.facts, facts) {
		next.revision++
	}
	o.networks.Keep(cluster.UID, next)
	return facts, nil
}

func sameVPC(a, b *model.ExistingVPC) bool {
	return a.ID == b.ID && slices.Equal(a.CIDRs, b.CIDRs) && slices.Equal(a.DNSServers, b.DNSServers) && slices.Equal(a.Subnets, b.Subnets)
}
