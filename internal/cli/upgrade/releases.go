package upgrade

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/cluster/stacks"
	"github.com/aws-operator/aws-operator/internal/state"
)

// running returns the version of Kubernetes that a cluster runs, or is being created with.
func running(cluster *v1alpha1.Cluster, all []*v1alpha1.Release) (*version.Version, error) {
	text := cluster.Status.Version
	if text == "" {
		of, err := release.Find(cluster.Spec.Release, all...)
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", cluster.Name, err)
		}
		text = of.Spec.Kubernetes
	}
	parsed, err := version.ParseSemantic(text)
	if err != nil {
		return nil, fmt.Errorf("cluster %s runs Kubernetes %q, which is not a version: %w", cluster.Name, text, err)
	}
	return parsed, nil
}

// nextOf returns the releases that a cluster can move to, newest first: those that are newer and
// not deprecated, that have all hashes that instances need to boot, and that the version skew
// policy allows.
func nextOf(of *state.Objects, all []*v1alpha1.Release) ([]*v1alpha1.Release, error) {
	from, err := running(of.Cluster, all)
	if err != nil {
		return nil, err
	}
	versions := map[string]*version.Version{}
	var next []*v1alpha1.Release
	for _, one := range all {
		parsed, err := version.ParseSemantic(one.Spec.Kubernetes)
		if err != nil || one.Spec.State == v1alpha1.ReleaseDeprecated || one.Name == of.Cluster.Spec.Release || !from.LessThan(parsed) ||
			!release.Bootable(one) {
			continue
		}
		refusal, err := stacks.Refusal(of.Cluster, of.Groups, one, all)
		if err != nil {
			return nil, err
		}
		if refusal == "" {
			versions[one.Name] = parsed
			next = append(next, one)
		}
	}
	slices.SortFunc(next, func(a, b *v1alpha1.Release) int {
		switch {
		case versions[b.Name].LessThan(versions[a.Name]):
			return -1
		case versions[a.Name].LessThan(versions[b.Name]):
			return 1
		default:
			return cmp.Compare(b.Name, a.Name)
		}
	})
	return next, nil
}

// choose returns the release to move to, nil if none is possible and none was requested. It returns
// the operator's error for a release that the version skew policy does not allow.
func choose(of *state.Objects, next, all []*v1alpha1.Release, wanted string) (*v1alpha1.Release, error) {
	if wanted == "" {
		if len(next) == 0 {
			return nil, nil //nolint:nilnil // nil is a valid result
		}
		return next[0], nil
	}
	found, err := release.Find(wanted, all...)
	if err != nil {
		return nil, err
	}
	switch refusal, err := stacks.Refusal(of.Cluster, of.Groups, found, all); {
	case err != nil:
		return nil, err
	case refusal != "":
		return nil, fmt.Errorf("cluster %s: %s", of.Cluster.Name, strings.TrimSuffix(refusal, "."))
	}
	return found, nil
}

// show prints the releases that a cluster can move to.
func show(out io.Writer, cluster *v1alpha1.Cluster, next []*v1alpha1.Release, to *v1alpha1.Release) error {
	runs := cmp.Or(cluster.Status.Release, cluster.Spec.Release)
	lines := []string{fmt.Sprintf("Cluster %s runs release %s. It can move to:", cluster.Name, runs)}
	if len(next) == 0 {
		lines[0] = fmt.Sprintf("Cluster %s runs release %s. It cannot move to another release.", cluster.Name, runs)
	}
	for _, one := range next {
		mark := " "
		if one == to {
			mark = "*"
		}
		lines = append(lines, fmt.Sprintf("%s %s (Kubernetes %s)", mark, one.Name, one.Spec.Kubernetes))
	}
	_, err := fmt.Fprintf(out, "%s\n\n", strings.Join(lines, "\n"))
	return err
}
