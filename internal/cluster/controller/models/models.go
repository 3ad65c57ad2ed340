package models

import (
	"context"
	"fmt"
	"hash"
	"hash/fnv"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/apply"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/cache"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/partition"
)

// Options configure [Models]. All are required.
type Options struct {
	// EC2 returns the client of a Cluster's account and region.
	EC2 func(*v1alpha1.Cluster) awsapi.EC2
	// Operator is the operator's name in tags.
	Operator string
	// Boundary returns the permissions boundary of a Cluster's identity, empty for none.
	Boundary func(*v1alpha1.Cluster) string
}

// Models resolves Clusters. It caches the models, and AWS's description of existing VPCs.
type Models struct {
	options  Options
	models   *cache.Keyed[modelKey, resolved]
	networks *cache.Keyed[types.UID, network]
}

// New returns models without any Cluster.
func New(options Options) *Models {
	return &Models{
		options: options, models: cache.NewKeyed[modelKey, resolved](), networks: cache.NewKeyed[types.UID, network](),
	}
}

// Forget drops what is cached for a deleted Cluster.
func (m *Models) Forget(uid types.UID) {
	m.networks.Drop(uid)
	m.Trim(uid)
}

// Trim drops a Cluster's models.
func (m *Models) Trim(uid types.UID) {
	m.models.Drop(modelKey{uid, false})
	m.models.Drop(modelKey{uid, true})
}

// modelKey identifies a model of a Cluster: for the Release that it runs, or for the one that its
// control plane upgrades to, ahead of its groups.
type modelKey struct {
	uid   types.UID
	ahead bool
}

// resolved is a model and the digest of its inputs.
type resolved struct {
	digest uint64
	model  *model.Cluster
}

// Digest hashes all inputs of a Cluster's model.
func (m *Models) Digest(cluster *v1alpha1.Cluster, release *v1alpha1.Release) hash.Hash64 {
	sum := fnv.New64a() // Writes to a hash never fail.
	facts, _ := m.networks.Get(cluster.UID)
	_, _ = fmt.Fprintf(sum, "%s|%d|%s|%d|%s|%d|%s|", cluster.UID, cluster.Generation, release.UID, release.Generation,
		cluster.Status.Account, facts.revision, cluster.Annotations[apply.AllowAnnotation])
	if boundary := m.options.Boundary(cluster); boundary != "" {
		_, _ = fmt.Fprintf(sum, "%s|", boundary)
	}
	if cluster.Spec.ServiceAccountIssuer != nil {
		_, _ = fmt.Fprintf(sum, "%s|", cluster.Status.Outputs[model.OutputIssuer])
	}
	if etcd := cluster.Status.Etcd; etcd != nil && (etcd.RestoreProgram != "" || len(etcd.Volumes) > 0) {
		_, _ = fmt.Fprintf(sum, "%s|%v|", etcd.RestoreProgram, etcd.Volumes)
	}
	if leaving := model.LeavingSlots(cluster); len(leaving) > 0 {
		_, _ = fmt.Fprintf(sum, "leaving %v|", leaving)
	}
	return sum
}

// AddOutputs hashes outputs of the base stack.
func AddOutputs(sum hash.Hash64, outputs map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		_, _ = sum.Write([]byte(name + "=" + outputs[name] + "|"))
	}
}

// Resolve returns the Cluster's model, from the cache if its inputs did not change.
func (m *Models) Resolve(ctx context.Context, cluster *v1alpha1.Cluster, release *v1alpha1.Release) (*model.Cluster, error) {
	existing, err := m.Existing(ctx, cluster)
	if err != nil {
		return nil, err
	}
	key, digest := modelKey{cluster.UID, isAhead(cluster, release)}, m.Digest(cluster, release).Sum64()
	if known, ok := m.models.Get(key); ok && known.digest == digest {
		return known.model, nil
	}
	if boundary := m.options.Boundary(cluster); boundary != "" {
		bounded := *cluster
		bounded.Spec.IAM.PermissionsBoundary = boundary
		cluster = &bounded
	}
	name, suffix := partition.Of(cluster.Spec.Region)
	made, err := model.Resolve(model.Input{
		Cluster: cluster, Release: release, Operator: m.options.Operator,
		AccountID: cluster.Status.Account, Partition: name, DNSSuffix: suffix, Existing: existing,
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // problems need no context
	}
	m.models.Drop(modelKey{cluster.UID, true}) // Unless it is this one, the upgrade has most likely ended.
	m.models.Keep(key, resolved{digest: digest, model: made})
	return made, nil
}

// isAhead reports whether a Release is not the one that the Cluster's control plane runs.
func isAhead(cluster *v1alpha1.Cluster, release *v1alpha1.Release) bool {
	return cluster.Status.Release != "" && cluster.Status.Release != release.Name
}

// AsRun returns the Cluster for its instance groups: with the Release that its control plane runs,
// whatever the spec says, since no node may be newer than its control plane. Callers must not
// change it.
func AsRun(cluster *v1alpha1.Cluster) *v1alpha1.Cluster {
	if cluster.Status.Release == "" || cluster.Status.Release == cluster.Spec.Release {
		return cluster
	}
	run := *cluster
	run.Spec.Release = cluster.Status.Release
	return &run
}
