// Package deletion implements the command delete, which deletes clusters.
package deletion

import (
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/internal/converge"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/inprocess"
	"github.com/aws-operator/aws-operator/internal/state"
)

// Command returns the command.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete",
		Short: "Delete clusters",
	}
	cmd.AddCommand(clusterCommand())
	return cmd
}

type options struct {
	state   flags.State
	confirm flags.Confirm
	output  flags.Output
	bring   converge.Flags
}

func clusterCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "cluster NAME",
		Short: "Show what deleting a cluster would remove, and with --yes delete it",
		Long: `Show every resource that deleting a cluster would remove, by type, name and ID: the
resources of its stacks, and those that its controllers created in AWS, such as load
balancers of its Services. Then show what is kept, and why. With --yes, delete them, wait
until the deletion is complete, and remove the cluster from the state.

After an interruption, the same command continues. Volumes of persistent volume claims are
kept unless spec.volumePolicy is Delete. In a management cluster, the operator deletes the
cluster.

If Terraform created the cluster, the command deletes only the load balancers of its
Services and the state; terraform destroy deletes the rest.`,
		Example: `  aws-operator delete cluster demo --state ./state
  aws-operator delete cluster demo --state ./state --yes`,
		Args:              usage.Name("cluster"),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
		ValidArgsFunction: o.state.CompleteCluster,
	}
	o.state.Add(cmd)
	o.confirm.Add(cmd)
	o.output.Add(cmd, flags.FormatTable, flags.FormatJSON, flags.FormatYAML, flags.FormatName)
	o.bring.Add(cmd)
	return cmd
}

func (o *options) run(cmd *cobra.Command, name string) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	ctx := cmd.Context()
	in, name, err := o.state.OpenCluster(cmd, name)
	if err != nil {
		return err
	}
	objects, err := in.Load(ctx, name)
	if err != nil {
		return err
	}
	clients, err := awsapi.New(ctx, awsapi.Options{Region: objects.Cluster.Spec.Region, UserAgent: "aws-operator/" + version.String()})
	if err != nil {
		return err
	}
	found, err := list(ctx, clients, objects)
	if err != nil {
		return err
	}
	if err := o.output.Print(cmd.OutOrStdout(), found, tableOf(found)); err != nil {
		return err
	}
	if o.output.Format == flags.FormatTable {
		cmd.PrintErrln(total(found))
	}
	others, err := live.MadeByTerraform(ctx, clients, objects.Cluster)
	if err != nil {
		return err
	}
	if others {
		cmd.PrintErrf("Cluster %s was made by Terraform, and terraform destroy deletes it. Before that, its controllers must delete "+
			"the load balancers of its Services, which Terraform does not manage: delete waits for that and removes the cluster from the state.\n", name)
	}
	if !o.confirm.Yes {
		cmd.PrintErrf("Nothing has been removed. To delete cluster %s, add --yes.\n", name)
		return nil
	}
	if others {
		if err := takeDown(cmd, clients, objects); err != nil {
			return err
		}
	}
	if err := o.remove(cmd, in, objects); err != nil {
		return err
	}
	if others {
		cmd.PrintErrf("Cluster %s is removed from the state. Now run terraform destroy.\n", name)
		return nil
	}
	cmd.PrintErrf("Cluster %s is deleted.\n", name)
	return nil
}

// remove deletes a cluster and waits until the deletion is complete.
func (o *options) remove(cmd *cobra.Command, in *state.State, objects *state.Objects) error {
	cluster := objects.Cluster
	if management := in.Kubernetes(); management != nil {
		if err := management.Delete(cmd.Context(), cluster); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete cluster %s: %w", cluster.Name, err)
		}
	}
	key := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}
	return o.bring.To(cmd, in, key, inprocess.Gone)
}
