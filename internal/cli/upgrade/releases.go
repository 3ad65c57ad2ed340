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
)

// releases are all that there are: the built-in ones, unless one of the state has the name.
func releases(own []*v1alpha1.Release) ([]*v1alpha1.Release, error) {
	all, err := release.Builtin()
	if err != nil {
		return nil, fmt.Errorf("read the built-in releases: %w", err)
	}
	all = slices.DeleteFunc(all, func(r *v1alpha1.Release) bool { return named(own, r.Name) != nil })
	return append(all, own...), nil
}

func named(all []*v1alpha1.Release, name string) *v1alpha1.Release {
	i := slices.IndexFunc(all, func(r *v1alpha1.Release) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return all[i]
}

// running is the version of Kubernetes that a cluster runs, or is made of.
func running(cluster *v1alpha1.Cluster, all []*v1alpha1.Release) (*version.Version, error) {
	text := cluster.Status.Version
	if text == "" {
		of := named(all, cluster.Spec.Release)
		if of == nil {
			return nil, fmt.Errorf("there is no Release %s, which cluster %s names; there are %s", cluster.Spec.Release, cluster.Name, names(all))
		}
		text = of.Spec.Kubernetes
	}
	parsed, err := version.ParseSemantic(text)
	if err != nil {
		return nil, fmt.Errorf("cluster %s runs Kubernetes %q, which is no version: %w", cluster.Name, text, err)
	}
	return parsed, nil
}

// nextOf returns the releases that a cluster can move to, the newest first: of the same minor version of Kubernetes and the next, newer
// than what runs, and not deprecated. https://kubernetes.io/releases/version-skew-policy/
func nextOf(cluster *v1alpha1.Cluster, all []*v1alpha1.Release) ([]*v1alpha1.Release, error) {
	from, err := running(cluster, all)
	if err != nil {
		return nil, err
	}
	versions := map[string]*version.Version{}
	var next []*v1alpha1.Release
	for _, one := range all {
		parsed, err := version.ParseSemantic(one.Spec.Kubernetes)
		if err != nil || one.Spec.State == v1alpha1.ReleaseDeprecated || one.Name == cluster.Spec.Release {
			continue
		}
		if from.LessThan(parsed) && parsed.Major() == from.Major() && parsed.Minor() <= from.Minor()+1 {
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

// choose returns the release to move to, nil if there is none to move to and none was asked for.
func choose(cluster *v1alpha1.Cluster, next, all []*v1alpha1.Release, wanted string) (*v1alpha1.Release, error) {
	if wanted == "" {
		if len(next) == 0 {
			return nil, nil //nolint:nilnil // that there is none is an answer
		}
		return next[0], nil
	}
	if found := named(next, wanted); found != nil {
		return found, nil
	}
	found := named(all, wanted)
	switch {
	case found == nil:
		return nil, fmt.Errorf("there is no Release %s; there are %s", wanted, names(all))
	case wanted == cluster.Spec.Release:
		return found, nil
	case len(next) == 0:
		return nil, fmt.Errorf("cluster %s cannot move to Release %s, nor to any other: it is of %s, the newest", cluster.Name, wanted, cluster.Spec.Release)
	default:
		return nil, fmt.Errorf("cluster %s cannot move to Release %s: Kubernetes moves one minor version at a time, and not back; it can move to %s",
			cluster.Name, wanted, names(next))
	}
}

func names(all []*v1alpha1.Release) string {
	list := make([]string, len(all))
	for i, one := range all {
		list[i] = one.Name
	}
	return strings.Join(list, ", ")
}

// show tells which releases a cluster can move to.
func show(out io.Writer, cluster *v1alpha1.Cluster, next []*v1alpha1.Release, to *v1alpha1.Release) error {
	runs := cmp.Or(cluster.Status.Release, cluster.Spec.Release)
	lines := []string{fmt.Sprintf("Cluster %s runs release %s. It can move to:", cluster.Name, runs)}
	if len(next) == 0 {
		lines[0] = fmt.Sprintf("Cluster %s runs release %s. There is none to move to.", cluster.Name, runs)
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
