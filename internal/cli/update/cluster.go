package update

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	clusterflags "github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/manifests"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/plural"
	"github.com/aws-operator/aws-operator/internal/terraform"
)

// Values of --target: what creates the cluster's resources.
const (
	targetTerraform      = "terraform"
	targetCloudFormation = "cloudformation"
)

type flags struct {
	manifests manifests.Flags
	state     clusterflags.State
	facts     facts
	confirm   clusterflags.Confirm
	prices    clusterflags.Prices

	target, out, layout string
	omitProvider        bool
	nodeupDir           string
}

func clusterCommand() *cobra.Command {
	f := flags{manifests: manifests.Flags{Optional: true}}
	cmd := &cobra.Command{
		Use:   "cluster NAME [--target terraform --out DIR] [--state STATE | -f FILE …]",
		Short: "Update a cluster to match its manifests, or write it as Terraform configuration",
		Long: `With --target cloudformation, the default without --out, do what aws-operator apply does
for one cluster: show what would happen and, with --yes, do it.

With --target terraform, write the cluster as a configuration for Terraform (1.5 or later)
and its provider hashicorp/aws (5.81 or later): kubernetes.tf, and the files that it reads
below data/NAME. The resources are those that the operator would create with
CloudFormation, from the same model. The command does not call AWS and writes only below
--out. It removes files of the cluster that are no longer part of the configuration, and
never changes other files.

The command reads the cluster, its instance groups, releases and keys from the state, where
aws-operator replace writes them. The keys become files below data/NAME/secrets that only
their owner may read and that Git ignores. Terraform uploads them to the cluster's bucket;
the state of Terraform, which everyone who may plan can read, contains only their paths and
SHA-256 hashes. Plans do not need these files, nor does an apply that does not change them.
The token with which workers join is in no file: the control plane creates and renews it.

With -f, the command reads the cluster from manifests. They contain no keys: name the
certificate of the cluster's CA, and the command prints what you still have to provide.
What the cluster costs in a month goes to standard error.

The account of the cluster is that of its role; without a role, it is --aws-account-id, or
else the account of Terraform's provider.

If Terraform owns the instances, replace them with aws-operator rolling-update:
terraform apply creates new versions of launch templates but replaces no instances.`,
		Example: `  aws-operator replace -f cluster.yml --state ./state
  aws-operator update cluster demo --state ./state --target terraform --out .
  terraform init && terraform plan

  # With CloudFormation: first show what would happen, then do it:
  aws-operator update cluster demo --state ./state
  aws-operator update cluster demo --state ./state --yes

  # A file for each stack, in a module that has its own provider:
  aws-operator update cluster demo --target terraform --out modules/demo --layout stack --no-provider

  # Without a state, from manifests:
  aws-operator update cluster demo -f demo.yaml --target terraform --out . --ca-certificate pki/ca.crt`,
		Args:              usage.Name("cluster"),
		ValidArgsFunction: f.state.CompleteCluster,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.manifests.Add(cmd)
	f.state.Add(cmd)
	f.confirm.Add(cmd)
	f.prices.Add(cmd)
	set := cmd.Flags()
	set.StringVar(
		&f.target,
		"target",
		"",
		"what creates the cluster's resources: "+targetTerraform+" (default with --out) or "+targetCloudFormation,
	)
	set.StringVar(&f.out, "out", "", "folder to write the configuration to")
	set.StringVar(&f.layout, "layout", string(terraform.LayoutCluster), "one file for the cluster, or one for each stack: cluster or stack")
	set.BoolVar(&f.omitProvider, "no-provider", false, "leave out the blocks terraform and provider")
	set.StringVar(
		&f.nodeupDir,
		"nodeup-dir",
		"",
		"folder of nodeup-linux-amd64 and nodeup-linux-arm64, with which instances boot (default: the folder of this program)",
	)
	set.StringVar(&f.facts.operator, "cluster-name", operator.DefaultClusterName, "the operator's --cluster-name, which is in its tags")
	set.StringVar(
		&f.facts.account, "aws-account-id", "", "AWS account of the cluster (default: the account of its role, or of Terraform's provider)",
	)
	set.StringVar(&f.facts.caFile, "ca-certificate", "", "with -f: PEM file with the certificate of the cluster's CA, which workers trust")
	return cmd
}

func (f *flags) run(cmd *cobra.Command, name string) error {
	switch target := cmp.Or(f.target, map[bool]string{true: targetCloudFormation, false: targetTerraform}[f.out == ""]); {
	case target == targetCloudFormation:
		return cloudFormation(cmd, name)
	case target != targetTerraform:
		return fmt.Errorf("--target %s is unknown; use %s or %s", f.target, targetTerraform, targetCloudFormation)
	case f.confirm.Yes:
		return errors.New("--yes requires --target " + targetCloudFormation + ": for Terraform, the command only writes files below --out")
	case f.out == "":
		return errors.New("name the folder to write the configuration to with --out")
	}
	layout := terraform.Layout(f.layout)
	if layout != terraform.LayoutCluster && layout != terraform.LayoutStack {
		return fmt.Errorf("--layout %s is unknown; use %s or %s", f.layout, terraform.LayoutCluster, terraform.LayoutStack)
	}
	prices, err := f.prices.List()
	if err != nil {
		return err
	}
	objects, err := f.read(cmd, name)
	if err != nil {
		return err
	}
	name = objects.Cluster.Name // It may have been called by its name in kops.
	if f.facts.issuerInBucket, err = publishesFromBucket(f.out, name); err != nil {
		return err
	}
	in, err := f.facts.input(objects)
	if err != nil {
		return err
	}
	in.Layout, in.OmitProvider = layout, f.omitProvider
	open, err := findPrograms(f.nodeupDir, in)
	if err != nil {
		return err
	}
	configuration, err := terraform.Cluster(*in)
	if err != nil {
		return fmt.Errorf("write cluster %s for Terraform: %w", name, err)
	}
	charts, err := addCharts(configuration, in.Cluster)
	if err != nil {
		return err
	}
	done, err := write(f.out, name, configuration, open)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if warning := model.NoBackups(objects.Cluster); warning != "" {
		cmd.PrintErrln(warning)
	}
	for _, group := range objects.Groups {
		if warning := model.NoNodeClass(group); warning != "" {
			cmd.PrintErrln(warning)
		}
	}
	for _, line := range priceOf(prices, in.Cluster.Region, configuration).Text() {
		cmd.PrintErrln(line)
	}
	return errors.Join(
		report(out, f.out, name, done, configuration.Elsewhere), sayCharts(out, f.install(name), in.Cluster.EKS() != nil, charts),
	)
}

// install returns the command that installs the cluster's addons, "" without a state.
func (f *flags) install(name string) string {
	if f.manifests.Given() {
		return ""
	}
	return fmt.Sprintf("aws-operator addons apply %s --state %s --yes", name, f.state.Ref())
}

// report prints what was written, and what the user still has to do.
func report(out io.Writer, dir, name string, done *written, elsewhere []string) error {
	for _, change := range done.changes {
		if _, err := fmt.Fprintln(out, change); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "Cluster %s is in %s: %s changed, %d unchanged.\n", name, dir, plural.Count(len(done.changes), "file"), done.unchanged)
	for _, one := range elsewhere {
		_, more := fmt.Fprintf(out, "Not in the configuration, and instances wait for it: %s\n", one)
		err = errors.Join(err, more)
	}
	return err
}
