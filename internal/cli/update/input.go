package update

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/partition"
	"github.com/aws-operator/aws-operator/internal/state"
	"github.com/aws-operator/aws-operator/internal/terraform"
)

// facts are the inputs that are not in the manifests of a cluster.
type facts struct {
	operator, account, caFile string
	// issuerInBucket reports whether the existing configuration publishes the issuer's documents in
	// the cluster's bucket.
	issuerInBucket bool
}

// read returns the cluster of that name and what belongs to it: from the files if some are named,
// from the state otherwise.
func (f *flags) read(cmd *cobra.Command, name string) (*state.Objects, error) {
	if f.manifests.Given() {
		set, err := f.manifests.Read(cmd)
		if err != nil {
			return nil, err
		}
		return f.objectsOf(set, name)
	}
	from, name, err := f.state.OpenCluster(cmd, name)
	if err != nil {
		return nil, err
	}
	if from.Kubernetes() != nil {
		return nil, errors.New(
			"in a management cluster, the operator makes clusters with CloudFormation, and Terraform would make this one a second time; keep it in a folder or a bucket, with --state",
		)
	}
	return from.Load(cmd.Context(), name)
}

// objectsOf returns the cluster of that name from manifests.
func (f *flags) objectsOf(set *manifest.Set, name string) (*state.Objects, error) {
	cluster, err := f.clusterOf(set, name)
	if err != nil {
		return nil, err
	}
	objects := &state.Objects{Cluster: cluster, Releases: manifest.Objects[*v1alpha1.Release](set)}
	for _, g := range manifest.Objects[*v1alpha1.InstanceGroup](set) {
		if g.Namespace = cmp.Or(g.Namespace, f.state.Namespace()); g.Spec.Cluster == cluster.Name && g.Namespace == cluster.Namespace {
			objects.Groups = append(objects.Groups, g)
		}
	}
	return objects, nil
}

// input resolves a cluster and its instance groups.
func (f *facts) input(of *state.Objects) (*terraform.Input, error) {
	cluster := of.Cluster
	if len(cluster.Status.Stacks) > 0 {
		return nil, fmt.Errorf(
			"cluster %s was made by CloudFormation, and Terraform would make it a second time; delete it first, or choose another name",
			cluster.Name,
		)
	}
	runs, err := release.Find(cluster.Spec.Release, of.Releases...)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w; name one of these, or pass its manifest", cluster.Name, err)
	}
	account, err := f.accountOf(cluster)
	if err != nil {
		return nil, err
	}
	name, suffix := partition.Of(cluster.Spec.Region)
	c, err := model.Resolve(model.Input{
		Cluster: cluster, Release: runs, Operator: f.operator, AccountID: account, Partition: name, DNSSuffix: suffix, Alone: true,
		IssuerInBucket: f.issuerInBucket,
	})
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", cluster.Name, err)
	}
	in := &terraform.Input{Cluster: c}
	for _, g := range of.Groups {
		group, err := model.ResolveGroup(c, g)
		if err != nil {
			return nil, fmt.Errorf("instance group %s: %w", g.Name, err)
		}
		in.Groups = append(in.Groups, group)
	}
	return in, f.setKeys(in, of)
}

// setKeys sets the cluster's keys if the state has them, or else only the CA certificate that
// workers trust.
func (f *facts) setKeys(in *terraform.Input, of *state.Objects) error {
	if in.Cluster.EKS() != nil { // EKS has the keys.
		return nil
	}
	if len(of.Secrets) > 0 {
		if f.caFile != "" {
			return errors.New("the state has the cluster's CAs; leave out --ca-certificate")
		}
		return keysOf(in, of)
	}
	if f.caFile == "" && len(in.Groups) > 0 {
		return errors.New(
			"workers need the certificate of the cluster's CA; name a state that has the cluster's CAs with --state (aws-operator replace creates them), or the certificate with --ca-certificate",
		)
	}
	if f.caFile != "" {
		var err error
		if in.CACertificate, err = os.ReadFile(f.caFile); err != nil {
			return fmt.Errorf("read the certificate of the cluster's CA: %w", err)
		}
	}
	return nil
}

// keysOf sets the keys from the state.
func keysOf(in *terraform.Input, of *state.Objects) error {
	cas, err := pki.Read(clock.RealClock{}, of.Cluster, of.Secrets)
	if err != nil {
		return err //nolint:wrapcheck // it names the Secret
	}
	if asked := of.Cluster.Spec.Certificates; asked != nil && cas.Rotation().Due(asked.Rotate) {
		return fmt.Errorf("cluster %s: %s", of.Cluster.Name, model.RotationNeedsOperator)
	}
	if model.AddsEncryption(of.Cluster, cas.Encryption().Stage) {
		return fmt.Errorf("cluster %s: %s", of.Cluster.Name, model.EncryptionNeedsOperator)
	}
	in.CACertificate, in.Keys = cas.CACertificate(), cas.Files()
	in.Cluster.SetKeys(cas.Keys())
	if issuer := in.Cluster.Spec.ServiceAccountIssuer; issuer != nil && issuer.URL == "" {
		in.Public, err = cas.IssuerDocuments(in.Cluster.Issuer)
	}
	return err //nolint:wrapcheck // it names what cannot be written
}

// clusterOf returns the cluster of that name, which may be its name in kops.
func (f *flags) clusterOf(set *manifest.Set, name string) (*v1alpha1.Cluster, error) {
	clusters := manifest.Objects[*v1alpha1.Cluster](set)
	found := state.Named(name, clusters)
	if len(found) > 1 {
		return nil, &state.AmbiguousError{Name: name, Clusters: found}
	}
	var names []string
	for _, c := range clusters {
		if len(found) == 1 && c.Name == found[0] {
			c.Namespace = cmp.Or(c.Namespace, f.state.Namespace())
			return c, nil
		}
		names = append(names, c.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("the files have no clusters; name the file of cluster %s with -f", name)
	}
	return nil, fmt.Errorf("the files have no cluster %s; they have %s", name, strings.Join(names, ", "))
}

// accountOf returns the account of the cluster: the account of its role, or that of the flag, or a
// reference to the account of Terraform's provider, which only Terraform knows.
func (f *facts) accountOf(cluster *v1alpha1.Cluster) (string, error) {
	const parts, account = 6, 4 // arn:partition:iam::account:role/…
	switch role := cluster.Spec.Role; {
	case role != nil:
		fields := strings.SplitN(role.ARN, ":", parts)
		if len(fields) < parts {
			return "", fmt.Errorf("the role %q of cluster %s is not an ARN", role.ARN, cluster.Name)
		}
		if f.account != "" && f.account != fields[account] {
			return "", fmt.Errorf(
				"cluster %s is made by a role of account %s; leave out --aws-account-id %s", cluster.Name, fields[account], f.account,
			)
		}
		return fields[account], nil
	case f.account == "":
		return terraform.AccountOfProvider, nil
	}
	return f.account, nil
}
