package state

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/kops"
)

// NameOf returns the name of the cluster that a user means by a name: that name or, if it is a
// domain name, the name of the cluster that a manifest of kops with that name defines, among the
// given clusters and those of the state. It returns a *NotFoundError if there is none, and an
// *AmbiguousError if there are several. Names of Clusters have no dots, so only domain names are
// looked up.
func (s *State) NameOf(ctx context.Context, name string, given ...*v1alpha1.Cluster) (string, error) {
	if !strings.Contains(name, ".") {
		return name, nil
	}
	kept, err := s.definitions(ctx)
	if err != nil {
		return "", fmt.Errorf("find the cluster that is called %s in kops: %w", name, err)
	}
	found := Named(name, slices.Concat(given, kept))
	switch len(found) {
	case 0:
		return "", &NotFoundError{Kind: "cluster", Name: name, State: s.ref, Others: known(slices.Concat(given, kept))}
	case 1:
		return found[0], nil
	}
	return "", &AmbiguousError{Name: name, Clusters: found}
}

// Named returns the names of the clusters that a user means by a name, sorted and each once: that
// of the cluster of that name, or else those of the clusters that manifests of kops with that name
// define. Like all domain names, names in kops are compared without regard to case, and may end
// with a dot: https://www.rfc-editor.org/rfc/rfc4343, https://www.rfc-editor.org/rfc/rfc1034#section-3.1
func Named(name string, clusters []*v1alpha1.Cluster) []string {
	domain := strings.TrimSuffix(name, ".")
	var found []string
	for _, c := range clusters {
		if c.Name == name {
			return []string{name}
		}
		if in := c.Annotations[kops.AnnotationName]; in != "" && strings.EqualFold(strings.TrimSuffix(in, "."), domain) {
			found = append(found, c.Name)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// known lists clusters for messages, with their names in kops.
func known(clusters []*v1alpha1.Cluster) []string {
	var names []string
	for _, c := range clusters {
		name := c.Name
		if in := c.Annotations[kops.AnnotationName]; in != "" {
			name += " (in kops " + in + ")"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// definitions returns the definitions of all clusters.
func (f *files) definitions(ctx context.Context) ([]*v1alpha1.Cluster, error) {
	names, err := f.clusters(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]*v1alpha1.Cluster, len(names))
	for i, name := range names {
		if all[i], err = readObject[*v1alpha1.Cluster](ctx, f.store, name+"/"+fileCluster); err != nil {
			return nil, err
		}
	}
	return all, nil
}
