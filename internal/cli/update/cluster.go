package update

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	clusterflags "github.com/aws-operator/aws-operator/internal/cli/flags"
	"github.com/aws-operator/aws-operator/internal/cli/manifests"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/terraform"
)

// Values of --target: who makes what a cluster consists of.
const (
	targetTerraform      = "terraform"
	targetCloudFormation = "cloudformation"
)

type flags struct {
	manifests manifests.Flags
	state     clusterflags.State
	facts     facts
	confirm   clusterflags.Confirm

	target, out, layout string
	omitProvider        bool
	nodeupDir           string
}

func clusterCommand() *cobra.Command {
	f := flags{manifests: manifests.Flags{Optional: true}}
	cmd := &cobra.Command{
		Use:   "cluster NAME [--target terraform --out DIR] [--state STATE | -f FILE …]",
		Short: "Bring a cluster to what its manifests say, or write it as Terraform configuration",
		Long: `With --target cloudformation, which is the default without --out, do what aws-operator
apply does for one cluster: show what would happen and, with --yes, do it.

With --target terraform write the cluster as a configuration for Terraform (1.5 or later)
and its provider hashicorp/aws (5.81 or later): kubernetes.tf, and what it reads below
data/NAME. The resources are those that the operator would make by CloudFormation, by
the same model. AWS is not asked, and nothing but files below --out is written. Files
there that are the cluster's and no longer part of it are removed; those of others are
never touched.

The cluster, its instance groups, releases and keys are read from the state, where
aws-operator replace puts them. The keys are files below data/NAME/secrets that only
their owner may read, and that Git leaves out. Terraform uploads them to the cluster's
bucket; its state, which all who may plan can read, has of each the path and the
SHA-256. Plans need no such files, nor does an apply that does not change them. The
token that workers join with is in no file: the control plane makes and renews it.

With -f the cluster is read from manifests. They have no keys: name the certificate of
the cluster's CA, and the command says what is left to put in place.

The account of the cluster is that of its role; else the one that Terraform's provider
acts in, unless --aws-account-id names it.

Where Terraform owns the machines, they are replaced by aws-operator rolling-update:
terraform apply makes new versions of launch templates and replaces no machine.`,
		Example: `  aws-operator replace -f cluster.yml --state ./state
  aws-operator update cluster demo --state ./state --target terraform --out .
  terraform init && terraform plan

  # By CloudFormation: what would happen, and then that
  aws-operator update cluster demo --state ./state
  aws-operator update cluster demo --state ./state --yes

  # A file for each stack, within a module that has its own provider:
  aws-operator update cluster demo --target terraform --out modules/demo --layout stack --no-provider

  # Without a state, from manifests:
  aws-operator update cluster demo -f demo.yaml --target terraform --out . --ca-certificate pki/ca.crt`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: f.state.CompleteCluster,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.manifests.Add(cmd)
	f.state.Add(cmd)
	f.confirm.Add(cmd)
	set := cmd.Flags()
	set.StringVar(&f.target, "target", "", "who makes the cluster's resources: "+targetTerraform+" (default with --out) or "+targetCloudFormation)
	set.StringVar(&f.out, "out", "", "folder to write the configuration to")
	set.StringVar(&f.layout, "layout", string(terraform.LayoutCluster), "one file for the cluster, or one for each stack: cluster or stack")
	set.BoolVar(&f.omitProvider, "no-provider", false, "leave out the blocks terraform and provider")
	set.StringVar(&f.nodeupDir, "nodeup-dir", "", "folder of nodeup-linux-amd64 and nodeup-linux-arm64, which machines boot with (default: that of this program)")
	set.StringVar(&f.facts.operator, "cluster-name", operator.DefaultClusterName, "the operator's --cluster-name, which tags what is its")
	set.StringVar(&f.facts.account, "aws-account-id", "", "AWS account of the cluster (default: that of its role, or the one that Terraform's provider acts in)")
	set.StringVar(&f.facts.caFile, "ca-certificate", "", "with -f: file with the certificate of the cluster's CA, PEM, which workers trust")
	return cmd
}

func (f *flags) run(cmd *cobra.Command, name string) error {
	switch target := cmp.Or(f.target, map[bool]string{true: targetCloudFormation, false: targetTerraform}[f.out == ""]); {
	case target == targetCloudFormation:
		return cloudFormation(cmd, name)
	case target != targetTerraform:
		return fmt.Errorf("--target %s is not known; give %s or %s", f.target, targetTerraform, targetCloudFormation)
	case f.confirm.Yes:
		return errors.New("--yes goes with --target " + targetCloudFormation + ": nothing but files below --out is written for Terraform")
	case f.out == "":
		return errors.New("name the folder to write the configuration to with --out")
	}
	layout := terraform.Layout(f.layout)
	if layout != terraform.LayoutCluster && layout != terraform.LayoutStack {
		return fmt.Errorf("--layout %s is not known; give %s or %s", f.layout, terraform.LayoutCluster, terraform.LayoutStack)
	}
	objects, err := f.read(cmd, name)
	if err != nil {
		return err
	}
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
	return errors.Join(report(out, f.out, name, done, configuration.Elsewhere), sayCharts(out, charts))
}

// report says what was written, and what is left to do.
func report(out io.Writer, dir, name string, done *written, elsewhere []string) error {
	for _, change := range done.changes {
		if _, err := fmt.Fprintln(out, change); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "Cluster %s is in %s: %d files changed, %d unchanged.\n", name, dir, len(done.changes), done.unchanged)
	for _, one := range elsewhere {
		_, more := fmt.Fprintf(out, "Not in the configuration, and machines wait for it: %s\n", one)
		err = errors.Join(err, more)
	}
	return err
}
