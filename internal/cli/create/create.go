// Package create implements the command create, which makes the manifests of a new cluster from a
// few flags.
package create

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/admit"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cli/replace"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/manifest"
)

// Defaults of a small cluster: nodes in private subnets, and a control plane that survives the loss
// of a zone if there are three zones.
const (
	defaultCIDR  = "10.0.0.0/16"
	defaultNodes = 2
	defaultSize  = "m6i.large"
)

type options struct {
	state  flags.State
	output flags.Output
	prices flags.Prices
	dryRun bool
	quotas bool

	zones                         []string
	region, release, topology     string
	networkCIDR                   string
	nodeCount, controlPlaneCount  int32
	nodeSize, controlPlaneSize    string
	bastion                       bool
	sshKeys, sshAccess, apiAccess []string
}

// Command returns the command.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Define a new cluster, or a Release for another patch version of Kubernetes",
		Long: `Define a new cluster from a few flags, or a Release from published hashes. These commands
create nothing in AWS; update and apply do.`,
		Example: `  aws-operator create cluster demo --zones eu-central-1a --dry-run -o yaml > demo.yml
  aws-operator create release --programs programs.yml --kubernetes v1.36.5 --from v1.36.4 > release.yml`,
	}
	cmd.AddCommand(clusterCommand(), releaseCommand())
	return cmd
}

func clusterCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "cluster NAME --zones ZONE[,ZONE …]",
		Short: "Define a new cluster from a few flags",
		Long: `Define a new cluster and one instance group, NAME-workers, from a few flags. All other
fields have their defaults. The command writes the manifests to the state, as replace does,
or with --dry-run to standard output, so that you can edit them and keep them in Git, and
what the cluster costs in a month to standard error, and with --quotas, whether the quotas
of the AWS account suffice. It creates nothing in AWS.`,
		Example: `  # Write manifests to review, edit and apply:
  aws-operator create cluster demo --zones eu-central-1a,eu-central-1b,eu-central-1c --topology private --bastion \
    --ssh-key ~/.ssh/id_ed25519.pub --ssh-access 192.0.2.0/24 --node-count 3 --dry-run -o yaml > demo.yml
  aws-operator plan -f demo.yml

  # Write a minimal cluster to the state:
  aws-operator create cluster demo --zones eu-central-1a --topology public --node-count 1 --node-size t3.medium`,
		Args: usage.Name("cluster"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.state.Add(cmd)
	o.output.Add(cmd, flags.FormatYAML, flags.FormatJSON)
	o.prices.Add(cmd)
	set := cmd.Flags()
	set.BoolVar(&o.dryRun, "dry-run", false, "only print the manifests")
	set.BoolVar(&o.quotas, "quotas", false, "with --dry-run, also ask AWS whether the account's quotas suffice")
	set.StringSliceVar(&o.zones, "zones", nil, "availability zones, of one region")
	set.StringVar(&o.region, "region", "", "AWS region (default: the region of the zones)")
	set.StringVar(&o.release, "release", "", "the Release (default: the newest active one)")
	set.StringVar(&o.topology, "topology", "private", "subnets of the nodes: private (behind NAT) or public")
	set.StringVar(&o.networkCIDR, "network-cidr", defaultCIDR, "IPv4 range of the new VPC")
	set.Int32Var(&o.nodeCount, "node-count", defaultNodes, "number of workers")
	set.StringVar(&o.nodeSize, "node-size", defaultSize, "instance type of workers")
	set.Int32Var(
		&o.controlPlaneCount,
		"control-plane-count",
		0,
		"number of control plane slots, 1 or 3 (default: 3 with three zones or more, else 1)",
	)
	set.StringVar(&o.controlPlaneSize, "control-plane-size", defaultSize, "instance type of the slots")
	set.BoolVar(&o.bastion, "bastion", false, "create a bastion for SSH access to the nodes")
	set.StringArrayVar(&o.sshKeys, "ssh-key", nil, "file with a public SSH key of a user who may log in")
	set.StringSliceVar(&o.sshAccess, "ssh-access", nil, "IPv4 ranges from which users may log in by SSH (default: none)")
	set.StringSliceVar(&o.apiAccess, "api-access", nil, "IPv4 ranges from which clients may reach the API (default: all)")
	_ = cmd.MarkFlagRequired("zones")
	_ = cmd.RegisterFlagCompletionFunc(
		"topology", cobra.FixedCompletions([]string{"private", "public"}, cobra.ShellCompDirectiveNoFileComp),
	)
	_ = cmd.RegisterFlagCompletionFunc("release", o.state.CompleteRelease)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

// activeReleases returns the built-in releases for new clusters, the newest first.
func activeReleases() []string {
	builtin, _ := release.Builtin() // a test of that package rules out an error
	active := slices.DeleteFunc(builtin, func(r *v1alpha1.Release) bool {
		return r.Spec.State == v1alpha1.ReleaseDeprecated || !release.Bootable(r)
	})
	slices.SortFunc(active, func(a, b *v1alpha1.Release) int {
		newer, _ := version.MustParseSemantic(b.Spec.Kubernetes).Compare(a.Spec.Kubernetes)
		return newer
	})
	return release.Names(active)
}

func (o *options) run(cmd *cobra.Command, name string) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	objects, err := o.objects(name)
	if err != nil {
		return err
	}
	if o.quotas && !o.dryRun {
		return errors.New("--quotas shows what a dry run would need: add --dry-run, or use aws-operator plan --quotas")
	}
	for _, object := range objects {
		if err := admit.Check(cmd.Context(), object, nil); err != nil {
			return err
		}
	}
	if o.dryRun {
		return errors.Join(o.print(cmd, objects), o.showCosts(cmd, objects))
	}
	into, err := o.state.Open(cmd)
	if err != nil {
		return err
	}
	names, err := into.Clusters(cmd.Context())
	if err != nil {
		return err
	}
	if slices.Contains(names, name) {
		return fmt.Errorf(
			"cluster %s already exists in the state %s: choose another name, or change it with aws-operator replace -f FILE", name, into,
		)
	}
	changes, err := into.Replace(cmd.Context(), objects)
	if err != nil {
		return err
	}
	return replace.Report(cmd, into, changes)
}

func (o *options) print(cmd *cobra.Command, objects []client.Object) error {
	contents := make([]map[string]any, len(objects))
	for i, object := range objects {
		var err error
		if contents[i], err = manifest.Definition(object); err != nil {
			return err
		}
	}
	if o.output.Format == flags.FormatJSON {
		return o.output.Print(cmd.OutOrStdout(), map[string]any{"apiVersion": "v1", "kind": "List", "items": contents}, flags.Table{})
	}
	text, err := manifest.Write(contents...)
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}

// objects are the cluster and its instance group.
func (o *options) objects(name string) ([]client.Object, error) {
	region, err := o.regionOfZones()
	if err != nil {
		return nil, err
	}
	topology, ok := map[string]v1alpha1.Topology{"private": v1alpha1.TopologyPrivate, "public": v1alpha1.TopologyPublic}[strings.ToLower(o.topology)]
	if !ok {
		return nil, fmt.Errorf("--topology %s is unknown; use private or public", o.topology)
	}
	cluster := &v1alpha1.Cluster{}
	cluster.Name = name
	cluster.Spec = v1alpha1.ClusterSpec{
		Release: o.release, Region: region,
		Network:      v1alpha1.Network{CIDR: o.networkCIDR, Zones: o.zones, Topology: topology},
		ControlPlane: v1alpha1.ControlPlane{Replicas: o.controlPlaneCount, InstanceType: o.controlPlaneSize},
		API:          v1alpha1.APIEndpoint{AllowedCIDRs: o.apiAccess},
		SSH:          v1alpha1.SSH{AllowedCIDRs: o.sshAccess},
		// The cluster may have no operator, which takes snapshots of etcd's volumes.
		Backup: v1alpha1.EtcdBackup{Bucket: &v1alpha1.BucketBackup{}},
	}
	if cluster.Spec.Release == "" {
		cluster.Spec.Release = activeReleases()[0]
	}
	if o.controlPlaneCount == 0 {
		cluster.Spec.ControlPlane.Replicas = slotsFor(o.zones)
	}
	if o.bastion {
		cluster.Spec.Bastion = &v1alpha1.Bastion{}
	}
	if cluster.Spec.SSH.AuthorizedKeys, err = readKeys(o.sshKeys); err != nil {
		return nil, err
	}
	group := &v1alpha1.InstanceGroup{}
	group.Name = name + "-workers"
	group.Spec = v1alpha1.InstanceGroupSpec{Cluster: name, MinSize: o.nodeCount, MaxSize: o.nodeCount, InstanceTypes: []string{o.nodeSize}}
	return []client.Object{cluster, group}, nil
}

// slotsFor returns three slots if each can be in a zone of its own. With fewer zones, the loss of
// one zone could take two of three slots, which is no better than one slot.
func slotsFor(zones []string) int32 {
	const quorum = 3
	if len(zones) >= quorum {
		return quorum
	}
	return 1
}

// regionOfZones returns the region, which is the name of a zone without its letter.
func (o *options) regionOfZones() (string, error) {
	if len(o.zones) == 0 || slices.Contains(o.zones, "") {
		return "", errors.New("--zones is empty: name availability zones, for example eu-central-1a,eu-central-1b")
	}
	if o.region != "" {
		return o.region, nil
	}
	first := o.zones[0]
	return first[:len(first)-1], nil
}

func readKeys(files []string) ([]string, error) {
	var keys []string
	for _, file := range files {
		data, err := os.ReadFile(file) //nolint:gosec // the user names it
		if err != nil {
			return nil, fmt.Errorf("read the public key: %w", err)
		}
		keys = append(keys, strings.TrimSpace(string(data)))
	}
	return keys, nil
}
