package stacks

import (
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// Begun reports whether a slot of a cluster was changed to a Release already, so that the move was judged. Of a change that is being
// rolled back that does not hold.
func Begun(cluster *v1alpha1.Cluster, name string) bool {
	for slot := range int(cluster.Spec.ControlPlane.Replicas) {
		known, err := Recall(StatusOf(cluster, model.SlotStackName(cluster.Name, slot)))
		if err != nil {
			continue
		}
		made := known.Machines.Now
		if next := known.Machines.Next; next != nil && !strings.HasPrefix(known.Status, "UPDATE_ROLLBACK_") {
			made = next
		}
		if made != nil && made.Release == name {
			return true
		}
	}
	return false
}

// Recollect adds to what is known to run in a cluster what its status remembers of the control plane. From is the Release that it
// runs, nil if that is gone. It errs where the status cannot be read.
func Recollect(running *release.Running, cluster *v1alpha1.Cluster, from *v1alpha1.Release) error {
	running.Release = cluster.Status.Release
	running.AddControlPlane(cluster.Status.Version)
	for slot := range int(cluster.Spec.ControlPlane.Replicas) {
		known, err := Recall(StatusOf(cluster, model.SlotStackName(cluster.Name, slot)))
		if err != nil {
			return err
		}
		for _, one := range []*Machines{known.Machines.Now, known.Machines.Next} {
			if one != nil {
				running.AddControlPlane(one.Version)
			}
		}
	}
	if from != nil {
		running.SetEtcd(from)
	}
	return nil
}

// Refusal returns why a cluster cannot move to a Release, by what the status of the cluster and of its instance groups remembers, and
// what to do instead; "" if it can, or has begun to. All are the Releases that there are. The operator, which hears the nodes as well,
// judges by the same rule ([release.Running.Refusal]). It errs where the status cannot be read.
func Refusal(cluster *v1alpha1.Cluster, groups []*v1alpha1.InstanceGroup, to *v1alpha1.Release, all []*v1alpha1.Release) (string, error) {
	if cluster.Status.Version == "" || cluster.Status.Release == to.Name || Begun(cluster, to.Name) {
		return "", nil
	}
	running := &release.Running{}
	for _, group := range groups {
		running.AddGroup(group.Name, group.Status.Version)
	}
	if err := Recollect(running, cluster, release.Named(all, cluster.Status.Release)); err != nil {
		return "", err
	}
	return running.Refusal(to, release.Names(all)), nil
}

// StatusOf returns what a Cluster's status says of a stack, nil if it says nothing.
func StatusOf(cluster *v1alpha1.Cluster, name string) *v1alpha1.StackStatus {
	for i := range cluster.Status.Stacks {
		if cluster.Status.Stacks[i].Name == name {
			return &cluster.Status.Stacks[i]
		}
	}
	return nil
}
