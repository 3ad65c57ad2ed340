// Package plan is the verb that shows what would happen to clusters, and changes nothing.
package plan

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/cli/flags"
	"github.com/aws-operator/aws-operator/internal/cli/manifests"
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
	plan      plan.Options

	// region is that of services.
	region string

	detailed, plain bool
}

// Command returns the verb.
func Command() *cobra.Command {
	o := options{manifests: manifests.Flags{Optional: true, Others: true}}
	cmd := &cobra.Command{
		Use:   "plan [cluster NAME] [-f FILE …]",
		Short: "Show what would happen to clusters and services, and change nothing",
		Long: `Show what would happen to clusters and services if what is written took the place of what is
deployed: the stacks and resources that are created, updated, replaced and deleted, the
properties that change, and those that force a replacement; then which machines are
replaced, in which order, and how long that takes at least. Nothing is changed.

With -f the manifests take the place of what the state holds; without, the state is
compared with what is deployed. What is deployed is known from digests in the state;
only of stacks that change CloudFormation is asked for the template. --change-set has
CloudFormation work out as well what it would do, and says where it says otherwise.

The digest at the end names exactly what is shown: apply --approve DIGEST goes on only
while the plan is the same.

Services (DynamoDB, SQSQueue and all other kinds of the operator, also those that
ModelDefinitions in the files define) are compared with the stacks that the operator
gives them, by their names, in the region of --aws-region. With --state k8s those of the
management cluster are planned, or, with -f, those of the files in their place. An
operator in a management cluster makes them; apply does not.`,
		Example: `  aws-operator plan -f demo.yaml
  aws-operator plan cluster demo --state ./state
  aws-operator plan -f queue.yaml --aws-region eu-central-1
  aws-operator plan cluster demo -f demo.yaml --state s3://bucket/clusters --change-set

  # For a pipeline: exit code 2 when there are changes.
  aws-operator plan --detailed-exitcode -o json > plan.json`,
		Args: arguments,
		RunE: o.run,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []string{kindCluster}, cobra.ShellCompDirectiveNoFileComp
			}
			return o.state.CompleteCluster(cmd, args[1:], typed)
		},
	}
	o.state.Add(cmd)
	o.manifests.Add(cmd)
	o.output.Add(cmd, formatText, formatJSON)
	set := cmd.Flags()
	set.BoolVar(&o.detailed, "detailed-exitcode", false, "exit with 2 when there are changes")
	set.BoolVar(&o.plan.ChangeSets, "change-set", false, "ask CloudFormation as well, by change sets that are removed again")
	set.BoolVar(&o.plain, "no-color", false, "no colours (default: colours on a terminal, unless NO_COLOR is set)")
	set.StringVar(&o.plan.Operator, "cluster-name", operator.DefaultClusterName, "the operator's --cluster-name, which tags what is its and begins the names of services' stacks")
	set.StringVar(&o.region, "aws-region", "", "AWS region of services (default: the SDK's default chain, such as AWS_REGION)")
	set.StringVar(&o.plan.AccountID, "aws-account-id", "", "AWS account of services and of a cluster that is new (default: that of its role, or of the credentials)")
	set.StringVar(&o.plan.NodeupDir, "nodeup-dir", "", "folder of nodeup-linux-amd64 and nodeup-linux-arm64, which machines boot with (default: that of this program)")
	return cmd
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
		changes = changes || !p.Empty()
	}
	if err := o.print(cmd.OutOrStdout(), plans); err != nil {
		return err
	}
	if changes && o.detailed {
		return exit.Changes()
	}
	return nil
}

// result is what machines read.
type result struct {
	// Digest names exactly all of this; apply --approve takes it, where no services are among it.
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
	if !slices.ContainsFunc(plans, func(p *plan.Plan) bool { return !p.Empty() }) || slices.ContainsFunc(plans, func(p *plan.Plan) bool { return p.Name == "" }) {
		return nil
	}
	_, err := fmt.Fprintf(out, "\nDigest %[1]s: apply with --approve %[1]s does this, or nothing.\n", plan.DigestOf(plans...))
	return err
}

// colours reports whether to write in colour: on a terminal, unless NO_COLOR is set (https://no-color.org).
func colours(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}
