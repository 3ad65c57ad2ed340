// Package apply implements the command apply, which creates and updates clusters to match manifests
// or the state. It changes nothing without --yes or --approve.
package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/cli/internal/converge"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/manifests"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	planverb "github.com/aws-operator/aws-operator/internal/cli/plan"
	"github.com/aws-operator/aws-operator/internal/cli/replace"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/inprocess"
	"github.com/aws-operator/aws-operator/internal/manifest"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/plan"
	"github.com/aws-operator/aws-operator/internal/state"
)

type options struct {
	manifests manifests.Flags
	state     flags.State
	confirm   flags.Confirm
	bring     converge.Flags
	prices    flags.Prices

	// approve is the digest of the approved plan.
	approve  string
	detailed bool
}

// Command returns the command.
func Command() *cobra.Command {
	o := options{manifests: manifests.Flags{Optional: true}}
	cmd := &cobra.Command{
		Use:   "apply [cluster NAME] [-f FILE …]",
		Short: "Create and update clusters to match manifests or the state",
		Long: `Create and update clusters with CloudFormation so that they match their manifests. Without
--yes, only show what would happen. With --yes, write the manifests to the state, apply the
changes, and wait until the clusters are ready. Without -f, apply what the state holds.

If the state is a folder or a bucket, the operator's controllers run in this process until
they are done. They write all progress to the state at once, so after an interruption the
same command continues. With --state k8s, the command applies the manifests to the
management cluster and follows its operator.

--approve DIGEST does the same as --yes, but only if the plan still has the digest that plan
printed. It rejects services (SQSQueue and other kinds): an operator in a management cluster
creates them.

CloudFormation rolls back a change that fails; the command then reports the reason and exits
with 1. Changes of clusters with updatePolicy Manual wait for approval, as in a management
cluster.`,
		Example: `  aws-operator apply -f demo.yaml
  aws-operator apply -f demo.yaml --yes

  # Apply exactly the reviewed plan:
  aws-operator plan -f demo.yaml
  aws-operator apply -f demo.yaml --approve 3f1c0d9a6be24758

  # Apply the state, for example in a pipeline after a merge:
  aws-operator apply --state ./state --yes`,
		Args: usage.ClusterOrAll,
		RunE: o.run,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []string{usage.Cluster}, cobra.ShellCompDirectiveNoFileComp
			}
			return o.state.CompleteCluster(cmd, args[1:], typed)
		},
	}
	o.manifests.Add(cmd)
	o.state.Add(cmd)
	o.confirm.Add(cmd)
	o.bring.Add(cmd)
	o.prices.Add(cmd)
	cmd.Flags().
		StringVar(&o.approve, "approve", "", "apply the changes only if the plan still has this digest, which plan prints; otherwise exit with 1")
	cmd.Flags().BoolVar(&o.detailed, "detailed-exitcode", false, "without --yes, exit with 2 when there are changes")
	return cmd
}

// read reads the manifests, if any. They must not contain services.
func (o *options) read(cmd *cobra.Command) (*manifest.Set, error) {
	if !o.manifests.Given() {
		return &manifest.Set{}, nil
	}
	set, err := o.manifests.Read(cmd)
	if err != nil {
		return nil, err
	}
	return set, refuseServices(set)
}

func (o *options) run(cmd *cobra.Command, args []string) error {
	set, err := o.read(cmd)
	if err != nil {
		return err
	}
	in, err := o.state.Open(cmd)
	if err != nil {
		return err
	}
	names, err := planverb.Names(cmd.Context(), set, in, args)
	if err != nil {
		return err
	}
	prices, err := o.prices.List()
	if err != nil {
		return err
	}
	changes, plans := false, make([]*plan.Plan, 0, len(names))
	for _, name := range names {
		if err := refuseOthers(cmd.Context(), set, in, name); err != nil {
			return err
		}
		p, err := planverb.One(
			cmd.Context(), set, in, name,
			plan.Options{NodeupDir: o.bring.NodeupDir, Operator: operator.DefaultClusterName, Prices: prices},
		)
		if err != nil {
			return err
		}
		if err := planverb.Show(cmd.OutOrStdout(), p); err != nil {
			return err
		}
		changes, plans = changes || !p.Empty(), append(plans, p)
	}
	if err := o.approved(plans); err != nil {
		return err
	}
	if !o.confirm.Yes && o.approve == "" {
		return o.pending(cmd, changes)
	}
	if err := put(cmd, in, set); err != nil {
		return err
	}
	for _, name := range names {
		if err := o.ready(cmd, in, name); err != nil {
			return err
		}
	}
	return nil
}

// refuseOthers returns an error if Terraform created the cluster: CloudFormation would create a
// second one with its name.
func refuseOthers(ctx context.Context, set *manifest.Set, in *state.State, name string) error {
	var cluster *v1alpha1.Cluster
	objects, err := in.Load(ctx, name)
	if _, missing := errors.AsType[*state.NotFoundError](err); err != nil && !missing {
		return err
	}
	if err == nil {
		cluster = objects.Cluster
	}
	for _, one := range manifest.Objects[*v1alpha1.Cluster](set) {
		if cluster == nil && one.Name == name {
			cluster = one.DeepCopy()
			cluster.Namespace = cmp.Or(cluster.Namespace, in.Namespace())
		}
	}
	if cluster == nil {
		return err
	}
	clients, err := awsapi.New(ctx, awsapi.Options{Region: cluster.Spec.Region, UserAgent: "aws-operator/" + version.String()})
	if err != nil {
		return err
	}
	others, err := live.MadeByTerraform(ctx, clients, cluster)
	if err != nil {
		return err
	}
	if others {
		return fmt.Errorf("cluster %s was made by Terraform, and CloudFormation would make a second one; change it with "+
			"aws-operator update cluster %s --target terraform --out DIR, then terraform apply", name, name)
	}
	return nil
}

// put writes the manifests to the state, if there are any.
func put(cmd *cobra.Command, in *state.State, set *manifest.Set) error {
	if len(set.Manifests) == 0 {
		return nil
	}
	replaced, err := replace.Into(cmd.Context(), in, set)
	if err != nil {
		return err
	}
	return replace.Report(cmd, in, replaced)
}

// pending prints the end of a run without --yes.
func (o *options) pending(cmd *cobra.Command, changes bool) error {
	cmd.PrintErrln("Nothing has been changed. To apply these changes, add --yes.")
	if changes && o.detailed {
		return exit.Changes()
	}
	return nil
}

// ready waits until one cluster is ready.
func (o *options) ready(cmd *cobra.Command, in *state.State, name string) error {
	objects, err := in.Load(cmd.Context(), name)
	if err != nil {
		return err
	}
	key := types.NamespacedName{Namespace: objects.Cluster.Namespace, Name: name}
	if err := o.bring.To(cmd, in, key, inprocess.Ready); err != nil {
		return err
	}
	if objects, err = in.Load(cmd.Context(), name); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Cluster %s is ready at %s.\n", name, objects.Cluster.Status.Endpoint)
	return err
}
