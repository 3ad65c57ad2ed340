package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/controller/outcomes"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
	"github.com/aws-operator/aws-operator/internal/cluster/workload"
	"github.com/aws-operator/aws-operator/pkg/operatorkit"
)

// upgradeStep decides whether a cluster that was up may change to the Release in its spec. If not,
// the cluster stays unchanged and continues to be operated.
type upgradeStep struct{ *operator }

// Name returns the step's name.
func (s upgradeStep) Name() string { return "upgrade" }

// EnsureCreated is done when the cluster may use the spec's Release.
func (s upgradeStep) EnsureCreated(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	return s.upkeep(ctx, cluster, s.judge(ctx, cluster))
}

// EnsureDeleted has nothing to do.
func (s upgradeStep) EnsureDeleted(context.Context, *v1alpha1.Cluster) operatorkit.Outcome {
	return operatorkit.Done()
}

func (s upgradeStep) judge(ctx context.Context, cluster *v1alpha1.Cluster) operatorkit.Outcome {
	to, err := s.objects.Release(ctx, cluster)
	if apierrors.IsNotFound(err) {
		return operatorkit.Stall("ReleaseNotFound", outcomes.Capital(s.noRelease(ctx, cluster).Error())+
			". The running cluster stays unchanged until spec.release names an existing Release.")
	}
	if err != nil {
		return operatorkit.Fail(err)
	}
	if _, err := release.Set(to.Spec.ResourceSet); err != nil {
		return operatorkit.Stall("ReleaseNotKnown", fmt.Sprintf(
			"The Release %q needs a resource set that this operator does not have: %s. The running cluster stays unchanged. Name another Release, or run a newer operator.",
			to.Name,
			err,
		))
	}
	if cluster.Status.Version != "" && to.Name != cluster.Status.Release && !stacks.Begun(cluster, to.Name) {
		if outcome := s.mayMove(ctx, cluster, to); !outcome.IsDone() {
			return outcome
		}
	}
	noteRelease(cluster, to)
	return operatorkit.Done()
}

// mayMove is done when the version skew policy allows the change to a Release.
func (s upgradeStep) mayMove(ctx context.Context, cluster *v1alpha1.Cluster, to *v1alpha1.Release) operatorkit.Outcome {
	if s.options.Workload.Get(keyOf(cluster)) == nil { // The operator has just started.
		if connection, outcome := s.credentials.Connect(ctx, cluster); connection == nil {
			return outcome
		}
		return operatorkit.Wait(
			time.Second, "NotConnected", "Connecting to the cluster's API to read the versions of its nodes before changing its release.",
		)
	}
	running, err := s.running(ctx, cluster)
	if err != nil {
		return operatorkit.Fail(err)
	}
	if model.UsesEKS(cluster) {
		to = stacks.MinorRelease(to)
	}
	if why := running.Refusal(to, s.objects.ReleaseNames(ctx)); why != "" {
		return operatorkit.Stall("UpgradeRefused", why+" The running cluster stays unchanged.")
	}
	return operatorkit.Done()
}

// running collects the running versions of Kubernetes: those that nodes report, or those that their
// stacks were created with if they do not report any.
func (o *operator) running(ctx context.Context, cluster *v1alpha1.Cluster) (*release.Running, error) {
	found := &release.Running{}
	var nodes []workload.Node
	if connection := o.options.Workload.Get(keyOf(cluster)); connection != nil {
		nodes = connection.Nodes()
	}
	version := func(version string) string { return version }
	if model.UsesEKS(cluster) {
		version = stacks.MinorOnly
	}
	for i := range nodes {
		if nodes[i].Slot != workload.NoSlot {
			found.AddControlPlane(nodes[i].Version)
			continue
		}
		found.AddNode(nodes[i].Name, nodes[i].Group, version(nodes[i].Version))
	}
	groups, err := o.objects.GroupsOf(ctx, keyOf(cluster))
	if err != nil {
		return nil, err
	}
	for i := range groups {
		found.AddGroup(groups[i].Name, version(groups[i].Status.Version))
	}
	from, err := o.objects.ReleaseNamed(ctx, cluster.Status.Release)
	if err != nil {
		from = nil // It was deleted; the version of etcd is unknown then.
	}
	return found, stacks.Recollect(found, cluster, from)
}
