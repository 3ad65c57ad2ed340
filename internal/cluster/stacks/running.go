package stacks

import (
	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/record"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// Begun reports whether a slot of a cluster was already changed to a Release, so that the upgrade
// was permitted. It returns false for a change that is being rolled back.
func Begun(cluster *v1alpha1.Cluster, name string) bool {
	for slot := range int(cluster.Spec.ControlPlane.Slots()) {
		known, err := record.Decode(record.Find(cluster, model.SlotStackName(cluster.Name, slot)))
		if err != nil {
			continue
		}
		made := known.History().Now
		if next := known.History().Next; next != nil && !record.IsRollingBack(known.Status) {
			made = next
		}
		if made != nil && made.Release == name {
			return true
		}
	}
	return false
}

// Recollect adds the control-plane versions in a cluster's status to the running ones. From is the
// running Release, nil if it was deleted. It returns an error if the status cannot be decoded.
func Recollect(running *release.Running, cluster *v1alpha1.Cluster, from *v1alpha1.Release) error {
	running.Release = cluster.Status.Release
	if model.UsesEKS(cluster) {
		running.AddControlPlane(MinorOnly(cluster.Status.Version))
		return nil
	}
	running.AddControlPlane(cluster.Status.Version)
	for slot := range int(cluster.Spec.ControlPlane.Slots()) {
		known, err := record.Decode(record.Find(cluster, model.SlotStackName(cluster.Name, slot)))
		if err != nil {
			return err
		}
		for _, one := range []*record.Machines{known.History().Now, known.History().Next} {
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

// Refusal returns why a cluster cannot change to a Release, according to the statuses of the
// cluster and its instance groups, and what to do instead; "" if it can, or has started to. All are
// the existing Releases. The operator, which also observes the nodes, applies the same rules
// ([release.Running.Refusal]). It returns an error if a status cannot be decoded.
func Refusal(cluster *v1alpha1.Cluster, groups []*v1alpha1.InstanceGroup, to *v1alpha1.Release, all []*v1alpha1.Release) (string, error) {
	if cluster.Status.Version == "" || cluster.Status.Release == to.Name || Begun(cluster, to.Name) {
		return "", nil
	}
	running, version := &release.Running{}, func(version string) string { return version }
	if model.UsesEKS(cluster) {
		to, version = MinorRelease(to), MinorOnly
	}
	for _, group := range groups {
		running.AddGroup(group.Name, version(group.Status.Version))
	}
	if err := Recollect(running, cluster, release.Named(all, cluster.Status.Release)); err != nil {
		return "", err
	}
	return running.Refusal(to, release.Names(all)), nil
}

// MinorOnly returns the minor version of a version of Kubernetes as a whole version: v1.36.0 for
// v1.36.2-eks-1234567. EKS chooses the patch version.
func MinorOnly(version string) string {
	if version == "" {
		return ""
	}
	return "v" + model.MinorVersion(version) + ".0"
}

// MinorRelease returns a Release with the minor version of its Kubernetes only, for control planes
// that EKS runs.
func MinorRelease(of *v1alpha1.Release) *v1alpha1.Release {
	of = of.DeepCopy()
	of.Spec.Kubernetes = MinorOnly(of.Spec.Kubernetes)
	return of
}
