package iam

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aws-operator/aws-operator/internal/awsevents"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cli/trial"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/partition"
	"github.com/aws-operator/aws-operator/internal/permissions"
	"github.com/aws-operator/aws-operator/internal/service/render"
)

// clusterKind is the kind that stands for Clusters and InstanceGroups.
const clusterKind = "Cluster"

type options struct {
	choice permissions.Choice
	kinds  []string
	output flags.Output
	out    string
	trial  bool
	shards bool
}

// Command returns the command.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "iam policy",
		Short:   "Print the IAM policies that the operator needs",
		Long:    "Print the IAM policies that the operator and the commands need.",
		Example: "  aws-operator iam policy --kind SQSQueue --kind DynamoDB",
	}
	cmd.AddCommand(policyCommand())
	return cmd
}

func policyCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "policy [--kind KIND …]",
		Short: "Print the least policies for kinds and clusters",
		Long: `Print the least IAM policies with which the operator serves the chosen kinds and Clusters:
its own calls, and those that CloudFormation makes with the same permissions for the types in
their templates. The calls are those in the code; the permissions reference has the reasons.

A managed policy has at most 6,144 characters without white space. The command prints as many
policies as that needs; attach all of them. By default, an IAM role can have ten.

A CloudFormationTemplate or a ModelDefinition of yours also needs the actions that AWS lists for
its types (aws cloudformation describe-type).`,
		Example: `  # For an operator of queues and tables:
  aws-operator iam policy --kind SQSQueue,DynamoDB --aws-account-id 123456789012 --aws-region eu-central-1

  # For one cluster, as a stack, for a user of the commands:
  aws-operator iam policy --kind Cluster --cluster demo --terminal --state-bucket my-state -o cloudformation

  # For a user of the command trial:
  aws-operator iam policy --trial --out policies

  # For everything, as a file for each policy:
  aws-operator iam policy --out policies`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.output.Add(cmd, formatJSON, formatCloudFormation, formatTerraform)
	set, known := cmd.Flags(), append(permissions.Kinds(), clusterKind)
	set.StringSliceVar(&o.kinds, "kind", known, "kinds that the operator serves")
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
	set.StringSliceVar(&o.choice.ClusterNames, "cluster", nil, "names of the Clusters (default: all names)")
	set.BoolVar(&o.choice.Grants, "grants", false, "add what spec.grants needs: roles of service accounts (default: none, but those of the kinds)")
	set.BoolVar(&o.choice.EKS, "eks", false, "add what Clusters need whose control plane EKS runs (default: their control planes have slots)")
	set.StringVar(&o.choice.EKSCluster, "eks-cluster", "", "the operator's --eks-cluster, with --grants (default: pods do not use EKS Pod Identity)")
	set.BoolVar(&o.choice.Terminal, "terminal", false, "add what a user needs who runs the commands without an operator")
	set.BoolVar(&o.trial, "trial", false, "print what a user needs who runs the command trial, and nothing else")
	set.StringVar(&o.choice.StateBucket, "state-bucket", "", "bucket with the commands' state, for --terminal (default: the state is in a folder)")
	set.StringSliceVar(&o.choice.Roles, "assume-role", nil, "ARNs of the roles that objects and Clusters assume (default: none)")
	set.StringVar(
		&o.choice.Operator, "cluster-name", operator.DefaultClusterName, "the operator's --cluster-name, which prefixes stack names and the names of the policies",
	)
	set.BoolVar(&o.shards, "shards", false, "for an operator with --shards, of which each shard has an event queue")
	set.StringVar(&o.choice.Region, "aws-region", "", "AWS region (default: all)")
	set.StringVar(&o.choice.Account, "aws-account-id", "", "AWS account (default: the one that has the policy)")
	set.StringVar(&o.choice.Partition, "partition", "", "partition in ARNs: aws, aws-cn, aws-us-gov … (default: that of --aws-region)")
	set.StringVar(&o.out, "out", "", "folder to write a file for each JSON policy to, instead of printing")
	for _, other := range []string{"kind", "cluster", "grants", "eks", "eks-cluster", "terminal", "state-bucket", "assume-role", "shards"} {
		cmd.MarkFlagsMutuallyExclusive("trial", other)
	}
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	if err := o.complete(); err != nil {
		return err
	}
	documents, err := o.choice.Documents()
	if err != nil {
		return fmt.Errorf("--kind: %w or %s", err, clusterKind)
	}
	if len(documents) > 1 && o.out == "" {
		cmd.PrintErrf("These are %d policies, since a managed policy has at most %d characters. Attach all of them.\n", len(documents), permissions.MaxPolicy)
	}
	if o.out != "" {
		return write(o.out, documents)
	}
	text, err := format(o.output.Format, documents)
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}

// complete checks the flags and derives the rest of the choice from them.
func (o *options) complete() error {
	if err := o.output.Check(); err != nil {
		return err
	}
	o.choice.Kinds = slices.DeleteFunc(slices.Clone(o.kinds), func(kind string) bool { return kind == clusterKind })
	o.choice.Clusters = slices.Contains(o.kinds, clusterKind)
	o.choice.Events = awsevents.StackName(o.choice.Operator)
	if o.shards {
		o.choice.Events = awsevents.ShardStackNames(o.choice.Operator)
	}
	if o.trial {
		trial.Permissions(&o.choice)
	}
	switch {
	case len(o.choice.ClusterNames) > 0 && !o.choice.Clusters:
		return fmt.Errorf("--cluster names clusters, but --kind does not include %s", clusterKind)
	case o.choice.EKS && !o.choice.Clusters:
		return fmt.Errorf("--eks is for clusters: add %s to --kind", clusterKind)
	case o.choice.EKSCluster != "" && !o.choice.Grants:
		return fmt.Errorf("--eks-cluster is for the roles of service accounts: add --grants")
	case o.choice.StateBucket != "" && !o.choice.Terminal:
		return fmt.Errorf("--state-bucket is for the commands: add --terminal")
	case o.out != "" && o.output.Format != formatJSON:
		return fmt.Errorf("--out writes JSON, not %s: redirect standard output instead", o.output.Format)
	}
	if o.choice.EKSCluster != "" {
		if err := render.CheckEKSCluster(o.choice.EKSCluster); err != nil {
			return fmt.Errorf("--eks-cluster: %w", err)
		}
	}
	return o.locate()
}

// locate sets the partition of the region, or checks the one that is given.
func (o *options) locate() error {
	given := o.choice.Partition
	o.choice.Partition, o.choice.Suffix = partition.Of(o.choice.Region)
	if given == "" || given == o.choice.Partition {
		return nil
	}
	suffix, ok := partition.Named(given)
	switch {
	case !ok:
		return fmt.Errorf("--partition %s is unknown", given)
	case o.choice.Region != "":
		return fmt.Errorf("--aws-region %s is in the partition %s, not in %s", o.choice.Region, o.choice.Partition, given)
	}
	o.choice.Partition, o.choice.Suffix = given, suffix
	return nil
}

// write writes each policy as a file.
func write(folder string, documents []permissions.Document) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return fmt.Errorf("make the folder for the policies: %w", err)
	}
	for i := range documents {
		if err := os.WriteFile(filepath.Join(folder, documents[i].Name+".json"), documents[i].JSON(), 0o600); err != nil {
			return fmt.Errorf("write the policy %s: %w", documents[i].Name, err)
		}
	}
	return nil
}

// label returns a document's name as a name in a configuration.
func label(name string) string { return strings.ReplaceAll(name, "-", "_") }
