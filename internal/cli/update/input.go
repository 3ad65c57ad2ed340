package update

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/service/render"
	"github.com/aws-operator/aws-operator/internal/terraform"
)

// facts are what manifests do not say about a cluster.
type facts struct {
	operator, account, caFile string
}

// input decides everything about the cluster of that name and its instance groups.
func (f *facts) input(set *manifest.Set, name string) (*terraform.Input, error) {
	cluster, err := clusterOf(set, name)
	if err != nil {
		return nil, err
	}
	of, err := releaseOf(set, cluster.Spec.Release)
	if err != nil {
		return nil, err
	}
	account, err := f.accountOf(cluster)
	if err != nil {
		return nil, err
	}
	partition, suffix := render.Partition(cluster.Spec.Region)
	c, err := model.Resolve(model.Input{
		Cluster: cluster, Release: of, Operator: f.operator, AccountID: account, Partition: partition, DNSSuffix: suffix,
	})
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	in := &terraform.Input{Cluster: c}
	for _, g := range manifest.Objects[*v1alpha1.InstanceGroup](set) {
		if g.Namespace = namespace(g.Namespace); g.Spec.Cluster != name || g.Namespace != cluster.Namespace {
			continue
		}
		group, err := model.ResolveGroup(c, g)
		if err != nil {
			return nil, fmt.Errorf("instance group %s: %w", g.Name, err)
		}
		in.Groups = append(in.Groups, group)
	}
	if f.caFile == "" && len(in.Groups) > 0 {
		return nil, errors.New("the workers must be told whom to trust; name the certificate of the cluster's CA with --ca-certificate")
	}
	if f.caFile != "" {
		if in.CACertificate, err = os.ReadFile(f.caFile); err != nil {
			return nil, fmt.Errorf("read the certificate of the cluster's CA: %w", err)
		}
	}
	return in, nil
}

func namespace(given string) string {
	if given == "" {
		return "default"
	}
	return given
}

// clusterOf returns the cluster of that name.
func clusterOf(set *manifest.Set, name string) (*v1alpha1.Cluster, error) {
	var names []string
	for _, c := range manifest.Objects[*v1alpha1.Cluster](set) {
		if c.Name == name {
			c.Namespace = namespace(c.Namespace)
			return c, nil
		}
		names = append(names, c.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no cluster %s in the files, nor any other; name the file that it is in with -f", name)
	}
	return nil, fmt.Errorf("there is no cluster %s in the files; there is %s", name, strings.Join(names, ", "))
}

// releaseOf returns the release of that name, from the files or a built-in one.
func releaseOf(set *manifest.Set, name string) (*v1alpha1.Release, error) {
	builtin, err := release.Builtin()
	if err != nil {
		return nil, fmt.Errorf("read the built-in releases: %w", err)
	}
	all := append(manifest.Objects[*v1alpha1.Release](set), builtin...)
	i := slices.IndexFunc(all, func(r *v1alpha1.Release) bool { return r.Name == name })
	if i < 0 {
		names := make([]string, 0, len(all))
		for _, r := range all {
			names = append(names, r.Name)
		}
		return nil, fmt.Errorf("there is no release %q; give its manifest with -f, or take one of %s", name, strings.Join(names, ", "))
	}
	return all[i], nil
}

// accountOf returns the account that the cluster is made in: that of the role by which it is made, or the one given.
func (f *facts) accountOf(cluster *v1alpha1.Cluster) (string, error) {
	const parts, account = 6, 4 // arn:partition:iam::account:role/…
	switch role := cluster.Spec.Role; {
	case role != nil:
		fields := strings.SplitN(role.ARN, ":", parts)
		if len(fields) < parts {
			return "", fmt.Errorf("the role %q of cluster %s is not an ARN", role.ARN, cluster.Name)
		}
		if f.account != "" && f.account != fields[account] {
			return "", fmt.Errorf("cluster %s is made by a role of account %s; leave out --aws-account-id %s", cluster.Name, fields[account], f.account)
		}
		return fields[account], nil
	case f.account == "":
		return "", fmt.Errorf("the account of cluster %s is not known, and the name of its bucket and its policies have it; give it with --aws-account-id", cluster.Name)
	}
	return f.account, nil
}
