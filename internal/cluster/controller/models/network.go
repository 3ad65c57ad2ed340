package models

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/existingvpc"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// network is AWS's description of an existing VPC for one generation of a Cluster.
type network struct {
	generation int64
	// revision counts the observed changes.
	revision int
	facts    *model.ExistingVPC
	tagged   bool
}

// Recheck makes the next call of [Models.Existing] ask AWS again.
func (m *Models) Recheck(uid types.UID) {
	known, _ := m.networks.Get(uid)
	known.generation = 0
	m.networks.Keep(uid, known)
}

// Tag tags the Cluster's existing VPC and subnets, once.
func (m *Models) Tag(ctx context.Context, cluster *v1alpha1.Cluster) error {
	known, _ := m.networks.Get(cluster.UID)
	if known.tagged {
		return nil
	}
	if err := m.adopt(ctx, cluster); err != nil {
		return err
	}
	known.tagged = true
	m.networks.Keep(cluster.UID, known)
	return nil
}

// Existing returns the description of the Cluster's existing VPC, nil if the Cluster gets a new
// one.
func (m *Models) Existing(ctx context.Context, cluster *v1alpha1.Cluster) (*model.ExistingVPC, error) {
	if cluster.Spec.Network.VPC == "" {
		return nil, nil //nolint:nilnil // nil stands for a new VPC
	}
	known, ok := m.networks.Get(cluster.UID)
	if ok && known.generation == cluster.Generation {
		return known.facts, nil
	}
	facts, err := existingvpc.Describe(ctx, m.options.EC2(cluster), cluster.Spec.Network.VPC)
	if err != nil {
		return nil, err
	}
	next := network{generation: cluster.Generation, revision: known.revision, facts: facts}
	if known.facts == nil || !sameVPC(known.facts, facts) {
		next.revision++
	}
	m.networks.Keep(cluster.UID, next)
	return facts, nil
}

func sameVPC(a, b *model.ExistingVPC) bool {
	return a.ID == b.ID && slices.Equal(a.CIDRs, b.CIDRs) && slices.Equal(a.DNSServers, b.DNSServers) && slices.Equal(a.Subnets, b.Subnets)
}
