package controller

import (
	"context"
	"fmt"
	"hash"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/partition"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// allowAnnotation names dangerous changes that the owner of the object permits, as replace,remove.
const allowAnnotation = v1alpha1.Group + "/allow"

// resolved is a model and what it was made from.
type resolved struct {
	digest uint64
	model  *model.Cluster
}

// digestOf hashes all that a Cluster's model is made from.
func (o *operator) digestOf(cluster *v1alpha1.Cluster, release *v1alpha1.Release) hash.Hash64 {
	sum := fnv.New64a() // Writing to a hash never fails.
	facts, _ := o.networks.get(cluster.UID)
	_, _ = fmt.Fprintf(sum, "%s|%d|%s|%d|%s|%d|%s|", cluster.UID, cluster.Generation, release.UID, release.Generation,
		cluster.Status.Account, facts.revision, cluster.Annotations[allowAnnotation])
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

// resolve decides everything about the Cluster, or returns it as it was decided before.
func (o *operator) resolve(ctx context.Context, cluster *v1alpha1.Cluster, release *v1alpha1.Release) (*model.Cluster, error) {
	existing, err := o.existing(ctx, cluster)
	if err != nil {
		return nil, err
	}
	key, digest := modelKey{cluster.UID, isAhead(cluster, release)}, o.digestOf(cluster, release).Sum64()
	if known, ok := o.models.get(key); ok && known.digest == digest {
		return known.model, nil
	}
	name, suffix := partition.Of(cluster.Spec.Region)
	made, err := model.Resolve(model.Input{
		Cluster: cluster, Release: release, Operator: o.options.ClusterName,
		AccountID: cluster.Status.Account, Partition: name, DNSSuffix: suffix, Existing: existing,
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // the problems speak for themselves
	}
	o.models.drop(modelKey{cluster.UID, true}) // unless it is this one, the move is most likely over
	o.models.keep(key, resolved{digest: digest, model: made})
	return made, nil
}

// isAhead reports whether a Release is another one than the Cluster's control plane runs.
func isAhead(cluster *v1alpha1.Cluster, release *v1alpha1.Release) bool {
	return cluster.Status.Release != "" && cluster.Status.Release != release.Name
}

// asRun returns the Cluster as its instance groups are made for it: with the Release that its control plane runs, whatever the spec
// wants, since no node may be newer than its control plane. It must not be changed.
func asRun(cluster *v1alpha1.Cluster) *v1alpha1.Cluster {
	if cluster.Status.Release == "" || cluster.Status.Release == cluster.Spec.Release {
		return cluster
	}
	run := *cluster
	run.Spec.Release = cluster.Status.Release
	return &run
}

// unresolved says what is wrong with a spec, or that it could not be looked at.
func unresolved(err error) operatorkit.Outcome {
	if problems, ok := model.AsProblems(err); ok {
		return operatorkit.Stall("InvalidSpec", "The spec must be corrected: "+problems.Error()+".")
	}
	return failed(err)
}
