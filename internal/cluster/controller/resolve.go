package controller

import (
	"context"
	"fmt"
	"hash"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/apply"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/partition"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// resolved is a model and the digest of its inputs.
type resolved struct {
	digest uint64
	model  *model.Cluster
}

// digestOf hashes all inputs of a Cluster's model.
func (o *operator) digestOf(cluster *v1alpha1.Cluster, release *v1alpha1.Release) hash.Hash64 {
	sum := fnv.New64a() // Writes to a hash never fail.
	facts, _ := o.networks.Get(cluster.UID)
	_, _ = fmt.Fprintf(sum, "%s|%d|%s|%d|%s|%d|%s|", cluster.UID, cluster.Generation, release.UID, release.Generation,
		cluster.Status.Account, facts.revision, cluster.Annotations[apply.AllowAnnotation])
	if cluster.Spec.ServiceAccountIssuer != nil {
		_, _ = fmt.Fprintf(sum, "%s|", cluster.Status.Outputs[model.OutputIssuer])
	}
	if etcd := cluster.Status.Etcd; etcd != nil {
		_, _ = fmt.Fprintf(sum, "%s|%v|", etcd.RestoreProgram, etcd.Volumes)
	}
	return sum
}

// addOutputs hashes outputs of the base stack.
func addOutputs(sum hash.Hash64, outputs map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		_, _ = sum.Write([]byte(name + "=" + outputs[name] + "|"))
	}
}

// resolve returns the Cluster's model, from the cache if its inputs did not change.
func (o *operator) resolve(ctx context.Context, cluster *v1alpha1.Cluster, release *v1alpha1.Release) (*model.Cluster, error) {
	existing, err := o.existing(ctx, cluster)
	if err != nil {
		return nil, err
	}
	key, digest := modelKey{cluster.UID, isAhead(cluster, release)}, o.digestOf(cluster, release).Sum64()
	if known, ok := o.models.Get(key); ok && known.digest == digest {
		return known.model, nil
	}
	name, suffix := partition.Of(cluster.Spec.Region)
	made, err := model.Resolve(model.Input{
		Cluster: cluster, Release: release, Operator: o.options.ClusterName,
		AccountID: cluster.Status.Account, Partition: name, DNSSuffix: suffix, Existing: existing,
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // problems need no context
	}
	o.models.Drop(modelKey{cluster.UID, true}) // Unless it is this one, the upgrade has most likely ended.
	o.models.Keep(key, resolved{digest: digest, model: made})
	return made, nil
}

// isAhead reports whether a Release is not the one that the Cluster's control plane runs.
func isAhead(cluster *v1alpha1.Cluster, release *v1alpha1.Release) bool {
	return cluster.Status.Release != "" && cluster.Status.Release != release.Name
}

// asRun returns the Cluster for its instance groups: with the Release that its control plane runs,
// whatever the spec says, since no node may be newer than its control plane. Callers must not
// change it.
func asRun(cluster *v1alpha1.Cluster) *v1alpha1.Cluster {
	if cluster.Status.Release == "" || cluster.Status.Release == cluster.Spec.Release {
		return cluster
	}
	run := *cluster
	run.Spec.Release = cluster.Status.Release
	return &run
}

// unresolved returns the outcome for an invalid spec or for a failure to read its inputs.
func unresolved(err error) operatorkit.Outcome {
	if problems, ok := model.AsProblems(err); ok {
		return operatorkit.Stall("InvalidSpec", "The spec must be corrected: "+problems.Error()+".")
	}
	return outcomes.Failed(err)
}
