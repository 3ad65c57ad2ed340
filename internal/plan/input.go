package plan

import (
	"cmp"
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/state"
)

// From returns the input for a cluster of a state.
func From(o *state.Objects) Input {
	in := Input{Cluster: o.Cluster, Groups: o.Groups, Releases: o.Releases}
	if cas, err := o.CAs(clock.RealClock{}); err == nil {
		in.CACertificate, in.Keys, in.Rotation = cas.CACertificate(), cas.Keys(), cas.Rotation()
		return in
	}
	for _, secret := range o.Secrets {
		if secret.Name == o.Cluster.Name+pki.SuffixCA {
			in.CACertificate = secret.Data[corev1.TLSCertKey]
		}
	}
	return in
}

// Overlay replaces definitions with those of manifests: the specs, labels and annotations of the
// cluster, if one is given, and of its instance groups, which are added if they are new; and
// Releases. The status and objects that are not in the manifests stay. Overlay does not change the
// input's own objects.
func (in *Input) Overlay(cluster *v1alpha1.Cluster, groups []*v1alpha1.InstanceGroup, releases []*v1alpha1.Release) {
	in.Releases = slices.Concat(releases, in.Releases)
	switch {
	case in.Cluster == nil:
		in.Cluster = cluster
	case cluster != nil:
		next := in.Cluster.DeepCopy()
		next.Spec, next.Labels, next.Annotations = cluster.Spec, cluster.Labels, cluster.Annotations
		in.Cluster = next
	}
	in.Groups = slices.Clone(in.Groups)
	for _, group := range groups {
		i := slices.IndexFunc(in.Groups, func(g *v1alpha1.InstanceGroup) bool { return g.Name == group.Name })
		if i < 0 {
			in.Groups = append(in.Groups, group)
			continue
		}
		next := in.Groups[i].DeepCopy()
		next.Spec, next.Labels, next.Annotations = group.Spec, group.Labels, group.Annotations
		in.Groups[i] = next
	}
}

// Read returns a cluster of the state, overridden by the manifests, which may also define all of
// it. It returns a *state.NotFoundError if neither has the cluster.
func Read(ctx context.Context, set *manifest.Set, from *state.State, name string) (Input, error) {
	in := Input{}
	objects, err := from.Load(ctx, name)
	missing, isMissing := errors.AsType[*state.NotFoundError](err)
	switch {
	case err == nil:
		in = From(objects)
	case !isMissing:
		return Input{}, err
	}
	clusters := manifest.Objects[*v1alpha1.Cluster](set)
	i := slices.IndexFunc(clusters, func(c *v1alpha1.Cluster) bool { return c.Name == name })
	var cluster *v1alpha1.Cluster
	switch {
	case i >= 0:
		cluster = clusters[i].DeepCopy() // Commands do not only plan the manifests.
		cluster.Namespace = cmp.Or(cluster.Namespace, from.Namespace())
	case isMissing:
		return Input{}, missing
	}
	var groups []*v1alpha1.InstanceGroup
	for _, g := range manifest.Objects[*v1alpha1.InstanceGroup](set) {
		if g.Spec.Cluster == name {
			group := g.DeepCopy()
			group.Namespace = cmp.Or(group.Namespace, from.Namespace())
			groups = append(groups, group)
		}
	}
	if isMissing {
		releases, err := from.Releases(ctx)
		if err != nil {
			return Input{}, err
		}
		in.Releases = releases
	}
	in.Overlay(cluster, groups, manifest.Objects[*v1alpha1.Release](set))
	return in, nil
}
