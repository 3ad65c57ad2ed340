// Package diagnose implements the command diagnose, which finds out why a cluster does not boot.
package diagnose

import (
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
)

// patience is how long the command waits for the cluster's API.
const patience = 5 * time.Second

type options struct {
	state  flags.State
	output flags.Output
	// clock decides which deadlines have passed.
	clock clock.PassiveClock
}

// Command returns the command.
func Command() *cobra.Command { return CommandAt(clock.RealClock{}) }

// CommandAt returns the command with a clock that decides which deadlines have passed.
func CommandAt(clk clock.PassiveClock) *cobra.Command {
	cmd := &cobra.Command{Use: "diagnose", Short: "Find out why a cluster does not boot"}
	cmd.AddCommand(clusterCommand(clk))
	return cmd
}

func clusterCommand(clk clock.PassiveClock) *cobra.Command {
	o := options{clock: clk}
	cmd := &cobra.Command{
		Use:   "cluster NAME",
		Short: "Find out why a cluster does not boot",
		Long: `Find out why a cluster does not boot or is not healthy, and what to do: the failures of its
stacks, how far each instance that is not a node has booted according to its console, with
the last error, the targets of the API's load balancer, and the problems that validate
reports. The last lines name the most likely cause and the remedy.

The command reads from AWS and the cluster's API and changes nothing. Consoles have text
that the instances wrote.

It exits with 0 if nothing is wrong, with 3 if it found a problem, and with 1 if it could
not check.`,
		Example: `  aws-operator diagnose cluster demo

  aws-operator diagnose cluster demo --state ./state -o json | jq .cause`,
		Args:              usage.Name("cluster"),
		ValidArgsFunction: o.state.CompleteCluster,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.state.Add(cmd)
	o.output.Add(cmd, flags.FormatTable, flags.FormatJSON, flags.FormatYAML)
	return cmd
}

func (o *options) run(cmd *cobra.Command, name string) error {
	if err := o.output.Check(); err != nil {
		return err
	}
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
	clients, err := awsapi.New(ctx, awsapi.Options{Region: objects.Cluster.Spec.Region, UserAgent: "aws-operator/" + version.String()})
	if err != nil {
		return err
	}
	session := live.Open(live.Options{
		Clients: clients, Cluster: objects.Cluster, Groups: objects.Groups, Secrets: objects.Secrets, Patience: patience,
	})
	defer session.Close()
	found, err := gather(ctx, session, clients, o.clock.Now())
	if err != nil {
		return err
	}
	result := resultOf(found)
	if len(result.Instances) > 0 || o.output.Format != flags.FormatTable {
		if err := o.output.Print(cmd.OutOrStdout(), result, tableOf(&result)); err != nil {
			return err
		}
	}
	if o.output.Format == flags.FormatTable {
		if err := report(cmd.OutOrStdout(), &result); err != nil {
			return err
		}
	}
	if !result.Healthy {
		return exit.Invalid(nil)
	}
	return nil
}
