package controller

import (
	"context"
	"fmt"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// clusterSteps returns the steps that create a Cluster, in order. Deletion runs them in reverse.
func (o *operator) clusterSteps() []operatorkit.Step[*v1alpha1.Cluster] {
	steps := []operatorkit.Step[*v1alpha1.Cluster]{
		clusterAPIStep{o},
		accountStep{o},
		unlessAbandoned{networkStep{o}},
		unlessAbandoned{o.sweep()},
		pkiStep{o},
		upgradeStep{o},
		unlessAbandoned{baseStep{o}},
		unlessAbandoned{storeStep{o}},
		unlessAbandoned{o.cleanupAfterNodes()},
		unlessAbandoned{slotsStep{o}},
		driftStep{o},
		kubeconfigStep{o},
		apiStep{o},
		unlessAbandoned{tokenStep{o}},
		groupsStep{o},
		unlessAbandoned{o.cleanupBeforeNodes()},
		nodesStep{o},
		backupStep{o},
		certificatesStep{o},
		etcdSpaceStep{o},
		auditLogStep{o},
		releaseStep{o},
		rotationStep{o},
		encryptionStep{o},
	}
	if o.options.Addons != nil {
		steps = append(steps, addonsStep{o})
	}
	return append(steps, readyStep{o})
}

// clusterSelector selects a Cluster's pipeline by the resource set of its Release.
type clusterSelector struct {
	operator *operator
	router   *operatorkit.Router[*v1alpha1.Cluster]
	pipeline *operatorkit.Pipeline[*v1alpha1.Cluster]
	// eks is the pipeline of Clusters whose control plane EKS runs.
	eks *operatorkit.Pipeline[*v1alpha1.Cluster]
}

// newClusterSelector routes the resource sets that the operator knows to their pipelines. So far,
// the sets differ only in data and share one pipeline.
func newClusterSelector(o *operator) (*clusterSelector, error) {
	pipeline := operatorkit.NewPipeline(o.clusterSteps()...)
	router, err := operatorkit.NewRouter(
		o.resourceSet, operatorkit.Route[*v1alpha1.Cluster]{Releases: ">=1.0.0 <2.0.0-0", Pipeline: pipeline},
	)
	if err != nil {
		return nil, fmt.Errorf("route resource sets: %w", err)
	}
	return &clusterSelector{operator: o, router: router, pipeline: pipeline, eks: operatorkit.NewPipeline(o.eksClusterSteps()...)}, nil
}

// PipelineFor returns the Cluster's pipeline. Deleting a Cluster or operating one that was up does
// not need its Release, which may have been deleted.
func (s *clusterSelector) PipelineFor(cluster *v1alpha1.Cluster) (*operatorkit.Pipeline[*v1alpha1.Cluster], error) {
	pipeline := s.pipeline
	if model.UsesEKS(cluster) {
		pipeline = s.eks
	}
	if !cluster.DeletionTimestamp.IsZero() || cluster.Status.Version != "" { // A cluster that was up is operated whatever its spec says.
		return pipeline, nil
	}
	if cluster.Spec.Release == "" { // admit does not let it run
		return pipeline, nil
	}
	set := s.operator.resourceSet(cluster)
	if set == "" {
		return nil, s.operator.noRelease(context.Background(), cluster) // Reads from the informer cache.
	}
	if _, err := release.Set(set); err != nil {
		return nil, fmt.Errorf("the Release %q needs a resource set that this operator does not have: %w", cluster.Spec.Release, err)
	}
	if pipeline == s.eks {
		return pipeline, nil
	}
	return s.router.PipelineFor(cluster)
}

// resourceSet returns the resource set of the Cluster's Release, "" if there is no such Release.
func (o *operator) resourceSet(cluster *v1alpha1.Cluster) string {
	found, err := o.objects.Release(context.Background(), cluster) // Reads from the informer cache.
	if err != nil {
		return ""
	}
	return found.Spec.ResourceSet
}

// noRelease returns the error for a spec that names an unknown Release. It lists the known ones.
func (o *operator) noRelease(ctx context.Context, cluster *v1alpha1.Cluster) error {
	return &release.NotFoundError{Name: cluster.Spec.Release, Known: o.objects.ReleaseNames(ctx)}
}
