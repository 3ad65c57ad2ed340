package update

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/cli/manifests"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/terraform"
)

// targetTerraform is a value of --target: who makes what a cluster consists of.
const targetTerraform = "terraform"

type flags struct {
	manifests manifests.Flags
	facts     facts

	target, out, layout string
	omitProvider        bool
	nodeupDir           string
}

func clusterCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "cluster NAME --target terraform --out DIR -f FILE [-f FILE …]",
		Short: "Write a cluster as Terraform configuration",
		Long: `Write a cluster as a configuration for Terraform (1.5 or later) and its provider
hashicorp/aws (5.81 or later): kubernetes.tf, and what it reads below data/NAME. The
resources are those that the operator would make by CloudFormation, by the same model.
AWS is not asked, and nothing but files below --out is written. Files there that are
the cluster's and no longer part of it are removed; those of others are never touched.

Terraform keeps what it is given in its state, where all who may plan can read it. So
the keys of the cluster's authorities and the token that workers join with are not in
the configuration; the command names what is left to put in place. Machines of a new
cluster wait for it.

Where Terraform owns the machines, they are replaced by aws-operator rolling-update:
terraform apply makes new versions of launch templates and replaces no machine.`,
		Example: `  aws-operator update cluster demo -f demo.yaml --target terraform --out . \
    --aws-account-id 123456789012 --ca-certificate pki/ca.crt
  terraform init && terraform plan

  # A file for each stack, within a module that has its own provider:
  aws-operator update cluster demo -f demo.yaml --target terraform --out modules/demo \
    --aws-account-id 123456789012 --ca-certificate pki/ca.crt --layout stack --no-provider`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.manifests.Add(cmd)
	set := cmd.Flags()
	set.StringVar(&f.target, "target", "", "who makes the cluster's resources: "+targetTerraform)
	set.StringVar(&f.out, "out", "", "folder to write the configuration to")
	set.StringVar(&f.layout, "layout", string(terraform.LayoutCluster), "one file for the cluster, or one for each stack: cluster or stack")
	set.BoolVar(&f.omitProvider, "no-provider", false, "leave out the blocks terraform and provider")
	set.StringVar(&f.nodeupDir, "nodeup-dir", "", "folder of nodeup-linux-amd64 and nodeup-linux-arm64, which machines boot with (default: that of this program)")
	set.StringVar(&f.facts.operator, "cluster-name", operator.DefaultClusterName, "the operator's --cluster-name, which tags what is its")
	set.StringVar(&f.facts.account, "aws-account-id", "", "AWS account of the cluster (default: that of its role)")
	set.StringVar(&f.facts.caFile, "ca-certificate", "", "file with the certificate of the cluster's CA, PEM, which workers trust")
	for _, required := range []string{"target", "out"} {
		_ = cmd.MarkFlagRequired(required)
	}
	return cmd
}

func (f *flags) run(cmd *cobra.Command, name string) error {
	if f.target != targetTerraform {
		return fmt.Errorf("--target %s is not known; give %s", f.target, targetTerraform)
	}
	layout := terraform.Layout(f.layout)
	if layout != terraform.LayoutCluster && layout != terraform.LayoutStack {
		return fmt.Errorf("--layout %s is not known; give %s or %s", f.layout, terraform.LayoutCluster, terraform.LayoutStack)
	}
	set, err := f.manifests.Read(cmd)
	if err != nil {
		return err
	}
	in, err := f.facts.input(set, name)
	if err != nil {
		return err
	}
	in.Layout, in.OmitProvider = layout, f.omitProvider
	programs, err := findNodeup(f.nodeupDir, in)
	if err != nil {
		return err
	}
	configuration, err := terraform.Cluster(*in)
	if err != nil {
		return fmt.Errorf("write cluster %s for Terraform: %w", name, err)
	}
	done, err := write(f.out, name, configuration, programs)
	if err != nil {
		return err
	}
	return report(cmd.OutOrStdout(), f.out, name, done, configuration.Elsewhere)
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
		_, more := fmt.Fprintf(out, "Not in the configuration, since it is secret or signed by what is: %s\n", one)
		err = errors.Join(err, more)
	}
	return err
}
