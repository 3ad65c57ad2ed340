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
	digest := o.digestOf(cluster, release).Sum64()
	if known, ok := o.models.get(cluster.UID); ok && known.digest == digest {
		return known.model, nil
	}
	name, suffix := partition(cluster.Spec.Region)
	made, err := model.Resolve(model.Input{
		Cluster: cluster, Release: release, Operator: o.options.ClusterName,
		AccountID: cluster.Status.Account, Partition: name, DNSSuffix: suffix, Existing: existing,
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // the problems speak for themselves
	}
	o.models.keep(cluster.UID, resolved{digest: digest, model: made})
	return made, nil
}

// unresolved says what is wrong with a spec, or that it could not be looked at.
func unresolved(err error) operatorkit.Outcome {
	if problems, ok := model.AsProblems(err); ok {
		return operatorkit.Stall("InvalidSpec", "The spec must be corrected: "+problems.Error()+".")
	}
	return failed(err)
}
