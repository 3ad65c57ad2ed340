// Package addons implements the command addons, which installs the addons of clusters that no operator
// manages.
package addons

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/cluster/addons"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
	"github.com/aws-operator/aws-operator/internal/operator"
	"github.com/aws-operator/aws-operator/internal/plural"
	"github.com/aws-operator/aws-operator/internal/state"
)

type options struct {
	state   flags.State
	confirm flags.Confirm
}

// Command returns the command.
func Command() *cobra.Command {
	cmd := &cobra.Command{Use: "addons", Short: "Install the addons of a cluster that Terraform made"}
	cmd.AddCommand(applyCommand())
	return cmd
}

func applyCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "apply NAME [--yes]",
		Short: "Install, upgrade and uninstall a cluster's addons",
		Long: `Install the addons of a cluster that Terraform made: those of its release, as spec.addons of the
Cluster changes them. Addons that the release and the Cluster no longer have are uninstalled.
Without --yes, only show what would be done.

Run it when the API answers, since no node becomes Ready before the addons for the network and
the cloud controller are installed, and again after an update that changes them.

The addons are Helm releases, which helm list shows. A Helm release that another client installed
under the name of an addon is not touched, and the command fails: uninstall it, or disable the
addon. A chart is rendered in a process of its own, within limits of time and memory.

An operator, and apply, install the addons of the clusters that they make.`,
		Example: `  # Show what would be done:
  aws-operator addons apply demo --state ./state

  aws-operator addons apply demo --state ./state --yes`,
		Args:              usage.Name("cluster"),
		ValidArgsFunction: o.state.CompleteCluster,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.state.Add(cmd)
	o.confirm.Add(cmd)
	return cmd
}

func (o *options) run(cmd *cobra.Command, name string) error {
	ctx := cmd.Context()
	klog.SetLogger(logr.Discard()) // client-go's log about closed connections is not for users.
	from, name, err := o.state.OpenCluster(cmd, name)
	if err != nil {
		return err
	}
	objects, err := from.Load(ctx, name)
	if err != nil {
		return err
	}
	wanted, err := wantedBy(from, objects)
	if err != nil {
		return err
	}
	clients, err := awsapi.New(ctx, awsapi.Options{Region: objects.Cluster.Spec.Region, UserAgent: "aws-operator/" + version.String()})
	if err != nil {
		return err
	}
	session := live.Open(live.Options{Clients: clients, Cluster: objects.Cluster, Groups: objects.Groups, Secrets: objects.Secrets})
	defer session.Close()
	config, err := connect(ctx, session, name)
	if err != nil {
		return err
	}
	return o.apply(cmd, name, config, wanted)
}

// wantedBy returns the addons that a cluster should have. It refuses clusters whose addons an
// operator installs.
func wantedBy(from *state.State, objects *state.Objects) ([]addons.Chart, error) {
	cluster := objects.Cluster.DeepCopy()
	switch {
	case from.Kubernetes() != nil:
		return nil, fmt.Errorf(
			"the operator of the management cluster installs the addons of cluster %s: change spec.addons of the Cluster", cluster.Name,
		)
	case len(cluster.Status.Stacks) > 0:
		return nil, fmt.Errorf("cluster %s was made by CloudFormation: aws-operator apply installs its addons", cluster.Name)
	}
	runs, err := release.Find(cluster.Spec.Release, objects.Releases...)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w; put its manifest into the state", cluster.Name, err)
	}
	cluster.Spec = model.SpecOf(cluster)
	wanted, err := addons.WantedBy(cluster, runs)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", cluster.Name, err)
	}
	return wanted, nil
}

// connect returns a configuration of clients of the cluster's API, which answers.
func connect(ctx context.Context, session *live.Session, name string) (*rest.Config, error) {
	found, err := session.Find(ctx)
	if err != nil {
		return nil, err
	}
	if len(found.Groups) == 0 {
		return nil, fmt.Errorf("cluster %s has no resources in AWS (%s): create it first, with terraform apply", name, found.Target)
	}
	connection, problem := session.Connect(ctx, found)
	if connection != nil {
		_, problem = connection.Reachable()
	}
	if problem != "" {
		return nil, fmt.Errorf(
			"the API of cluster %s does not answer (%s): aws-operator validate cluster %s --wait 10m waits for it", name, problem, name,
		)
	}
	return connection.Config(), nil
}

// apply shows the changes, or makes them.
func (o *options) apply(cmd *cobra.Command, name string, config *rest.Config, wanted []addons.Chart) error {
	lines, err := addons.Plan(config, wanted)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if len(lines) == 0 {
		_, err := fmt.Fprintf(out, "The addons of cluster %s are as desired.\n", name)
		return err
	}
	if _, err := fmt.Fprintf(out, "Addons of cluster %s:\n  %s\n", name, strings.Join(lines, "\n  ")); err != nil {
		return err
	}
	if !o.confirm.Yes {
		_, err := fmt.Fprintf(out, "\n%s. Nothing has been changed; --yes makes the changes.\n", plural.Count(len(lines), "change"))
		return err
	}
	folder, err := operator.ChartsFolder()
	if err != nil {
		return err
	}
	changes, err := addons.Apply(cmd.Context(), addons.Options{Folder: folder}, config, wanted)
	for _, change := range changes {
		_, more := fmt.Fprintf(out, "%s.\n", change)
		err = errors.Join(err, more)
	}
	if err != nil {
		return fmt.Errorf("%w; run the same command again to continue", err)
	}
	return nil
}
