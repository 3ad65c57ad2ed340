// Package plan implements the command plan, which shows what would change in clusters and services.
// It changes nothing.
package plan

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/manifests"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/plan"
)

// Formats of output.
const (
	formatText = "text"
	formatJSON = flags.FormatJSON
)

type options struct {
	state     flags.State
	manifests manifests.Flags
	output    flags.Output
	prices    flags.Prices
	plan      plan.Options

	// region is that of services.
	region string

	detailed, plain bool
}

// Command returns the command.
func Command() *cobra.Command {
	o := options{manifests: manifests.Flags{Optional: true, Others: true}}
	cmd := &cobra.Command{
		Use:   "plan [cluster NAME] [-f FILE …]",
		Short: "Show what would change in clusters and services, without changing it",
		Long: `Show what would change if the manifests or the state were applied: the stacks and resources
that would be created, updated, replaced and deleted, the properties that change and those
that force a replacement, the nodes that would be replaced, in which order, and how long
that takes at least. The command changes nothing.

It also shows what the changes cost in a month, by a list of AWS's prices on demand. It names
what is charged by usage and what the list lacks, and adds neither to a total.

With -f, the manifests replace the definitions in the state; without it, the definitions in
the state are compared with the deployed stacks. Digests in the state record what is
deployed, so CloudFormation returns templates only of the stacks that change. With
--change-set, CloudFormation also computes the changes, and the plan shows where they differ.

With --quotas, the plan shows for which quotas of the account the resources that a cluster adds
are too many, such as vCPUs or Elastic IP addresses, and what is in use of them. Each cluster
is checked on its own.

With --drift, CloudFormation also compares the resources of the deployed stacks with their
templates, and the plan shows what another client changed or deleted, with both values.

The digest at the end identifies the plan: apply --approve DIGEST proceeds only if the plan
is the same.

Services (DynamoDB, SQSQueue and all other kinds of the operator, including those that
ModelDefinitions in the files define) are compared with the stacks that the operator would
create for them, by name, in the region of --aws-region. With --state k8s, the services of
the management cluster are planned, or, with -f, those of the files instead, and those whose
ModelDefinition the files have. An operator in a management cluster creates services; apply
does not.`,
		Example: `  aws-operator plan -f demo.yaml
  aws-operator plan cluster demo --state ./state
  aws-operator plan -f queue.yaml --aws-region eu-central-1
  aws-operator plan cluster demo -f demo.yaml --state s3://bucket/clusters --change-set

  # Does the account have enough vCPUs, addresses and VPCs?
  aws-operator plan -f demo.yaml --quotas

  # What was changed by hand, for example in the console?
  aws-operator plan --state k8s --drift

  # For a pipeline: exit code 2 when there are changes.
  aws-operator plan --detailed-exitcode -o json > plan.json`,
		Args: usage.ClusterOrAll,
		RunE: o.run,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []string{usage.Cluster}, cobra.ShellCompDirectiveNoFileComp
			}
			return o.state.CompleteCluster(cmd, args[1:], typed)
		},
	}
	o.state.Add(cmd)
	o.manifests.Add(cmd)
	o.output.Add(cmd, formatText, formatJSON)
	o.prices.Add(cmd)
	o.addFlags(cmd.Flags())
	return cmd
}

func (o *options) addFlags(set *pflag.FlagSet) {
	set.BoolVar(&o.detailed, "detailed-exitcode", false, "exit with 2 when there are changes, or drift with --drift")
	set.BoolVar(&o.plan.ChangeSets, "change-set", false, "also let CloudFormation compute the changes, with temporary change sets")
	set.BoolVar(&o.plan.Drift, "drift", false, "also let CloudFormation detect what other clients changed in deployed stacks, which can take minutes")
	set.BoolVar(&o.plan.Quotas, "quotas", false, "also ask AWS whether the account's quotas suffice for what is added")
	set.BoolVar(&o.plain, "no-color", false, "disable colors (default: colors on a terminal, unless NO_COLOR is set)")
	set.StringVar(
		&o.plan.Operator,
		"cluster-name",
		operator.DefaultClusterName,
		"the operator's --cluster-name, which is in its tags and prefixes the names of services' stacks",
	)
	set.StringVar(&o.region, "aws-region", "", "AWS region of services (default: the SDK's default chain, such as AWS_REGION)")
	set.StringVar(
		&o.plan.AccountID,
		"aws-account-id",
		"",
		"AWS account of services and of a new cluster (default: the account of its role, or of the credentials)",
	)
	set.StringVar(
		&o.plan.NodeupDir,
		"nodeup-dir",
		"",
		"folder of nodeup-linux-amd64 and nodeup-linux-arm64, with which instances boot (default: the folder of this program)",
	)
}

func (o *options) run(cmd *cobra.Command, args []string) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	plans, err := o.plans(cmd, args)
	if err != nil {
		return err
	}
	changes := false
	for _, p := range plans {
		changes = changes || !p.Empty() || p.Drifted()
	}
	if err := o.print(cmd.OutOrStdout(), plans); err != nil {
		return err
	}
	if changes && o.detailed {
		return exit.Changes()
	}
	return nil
}

// result is the JSON output.
type result struct {
	// Digest identifies the entire plan, for apply --approve; empty if the plan has services.
	Digest string       `json:"digest"`
	Plans  []*plan.Plan `json:"plans"`
}

func (o *options) print(out io.Writer, plans []*plan.Plan) error {
	if o.output.Format == formatJSON {
		return o.output.Print(out, result{Digest: plan.DigestOf(plans...), Plans: plans}, flags.Table{})
	}
	colour := !o.plain && colours(out)
	for i, p := range plans {
		if i > 0 {
			if _, err := io.WriteString(out, "\n"); err != nil {
				return err
			}
		}
		if err := plan.Print(out, p, colour); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(plans, func(p *plan.Plan) bool { return !p.Empty() }) ||
		slices.ContainsFunc(plans, func(p *plan.Plan) bool { return p.Name == "" }) {
		return nil
	}
	_, err := fmt.Fprintf(out, "\nDigest %[1]s: apply --approve %[1]s applies exactly this plan.\n", plan.DigestOf(plans...))
	return err
}

// colours reports whether to write in colour: on a terminal, unless NO_COLOR is set
// (https://no-color.org).
func colours(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}
