package kops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// release returns the Release that the cluster runs: the one that the options name, or the nearest
// to its version of Kubernetes that instances can boot with: of the same version, else the newest
// patch of the same minor version, else of the oldest newer one, else of the newest.
func (c *cluster) release() string {
	version := strings.TrimPrefix(c.spec.Text("kubernetesVersion"), "v")
	known := c.byVersion()
	if name := c.t.options.Release; name != "" {
		i := slices.IndexFunc(known, func(r *v1alpha1.Release) bool { return r.Name == name })
		if i >= 0 {
			c.sayRelease(version, known[i])
		}
		return name
	}
	if len(known) == 0 {
		c.spec.Refuse("kubernetesVersion", "no release has all hashes that instances need to boot: name one with --kops-release")
		return ""
	}
	chosen := known[len(known)-1]
	if wanted, err := semver.NewVersion(version); err == nil {
		newer := func(r *v1alpha1.Release) bool {
			v := versionOf(r)
			return v.Major() > wanted.Major() || v.Major() == wanted.Major() && v.Minor() >= wanted.Minor()
		}
		if i := slices.IndexFunc(known, newer); i >= 0 {
			chosen = newestPatch(known[i:])
		}
		if i := slices.IndexFunc(known, func(r *v1alpha1.Release) bool { return versionOf(r).Equal(wanted) }); i >= 0 {
			chosen = known[i]
		}
	}
	c.sayRelease(version, chosen)
	return chosen.Name
}

// newestPatch returns the newest of the releases, oldest first, that are of the first one's minor
// version.
func newestPatch(known []*v1alpha1.Release) *v1alpha1.Release {
	of := versionOf(known[0])
	newest := known[0]
	for _, r := range known {
		if v := versionOf(r); v.Major() == of.Major() && v.Minor() == of.Minor() {
			newest = r
		}
	}
	return newest
}

// byVersion returns the releases for new clusters with which instances can boot, oldest first.
func (c *cluster) byVersion() []*v1alpha1.Release {
	var known []*v1alpha1.Release
	for _, r := range c.t.options.Releases {
		if r.Spec.State != v1alpha1.ReleaseDeprecated && versionOf(r) != nil && release.Bootable(r) {
			known = append(known, r)
		}
	}
	slices.SortStableFunc(known, func(a, b *v1alpha1.Release) int { return versionOf(a).Compare(versionOf(b)) })
	return known
}

func versionOf(r *v1alpha1.Release) *semver.Version {
	v, err := semver.NewVersion(r.Spec.Kubernetes)
	if err != nil {
		return nil
	}
	return v
}

// sayRelease says what becomes of the version.
func (c *cluster) sayRelease(version string, r *v1alpha1.Release) {
	wanted, err := semver.NewVersion(version)
	if version == "" || err != nil {
		c.spec.Note("kubernetesVersion", Info, fmt.Sprintf("the cluster runs release %s; name another with --kops-release", r.Name))
		return
	}
	is := versionOf(r)
	if is == nil || is.Equal(wanted) {
		return
	}
	why := fmt.Sprintf("the cluster runs release %s with Kubernetes %s; name another with --kops-release", r.Name, r.Spec.Kubernetes)
	if is.Minor() == wanted.Minor() {
		c.spec.Note("kubernetesVersion", Info, why)
		return
	}
	c.spec.Note("kubernetesVersion", Warning, why+". Make sure that your workloads do not use APIs that were removed in between")
}
