// Package validate implements the command validate, which checks that a cluster matches its
// definition and is healthy.
package validate

import (
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/backups"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cli/version"
	"github.com/aws-operator/aws-operator/internal/cluster/live"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
)

// defaultInterval is the interval between checks with --wait.
const defaultInterval = 10 * time.Second

type options struct {
	state  flags.State
	output flags.Output

	wait, interval time.Duration
}

// Command returns the command.
func Command() *cobra.Command {
	cmd := &cobra.Command{Use: "validate", Short: "Check that a cluster is valid and healthy"}
	cmd.AddCommand(clusterCommand())
	return cmd
}

func clusterCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "cluster NAME",
		Short: "Check that a cluster is valid and healthy",
		Long: `Check whether a cluster matches its definition and is healthy: its groups and their sizes,
their instances, the load balancer and its targets, the API's DNS name, nodes, slots (API
servers and etcd members), system pods, whether new instances can join, and certificates
that expire soon. Each problem is reported with its remedy.

The command reads from AWS and the cluster's API and changes nothing. It finds the cluster
by its tags, whether CloudFormation or Terraform created it. For the API, it signs a
certificate that is valid for an hour with the keys in the state.

It exits with 0 if the cluster is valid, with 3 if it found problems, and with 1 if it
could not check.`,
		Example: `  aws-operator validate cluster demo

  # After terraform apply, wait at most ten minutes until the cluster is up:
  aws-operator validate cluster demo --state ./state --wait 10m

  aws-operator validate cluster demo -o json | jq .problems`,
		Args:              usage.Name("cluster"),
		ValidArgsFunction: o.state.CompleteCluster,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.state.Add(cmd)
	o.output.Add(cmd, flags.FormatTable, flags.FormatJSON, flags.FormatYAML)
	set := cmd.Flags()
	set.DurationVar(&o.wait, "wait", 0, "wait at most this long until the cluster is valid")
	set.DurationVar(&o.interval, "interval", defaultInterval, "how often to check while waiting")
	return cmd
}

func (o *options) run(cmd *cobra.Command, name string) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	if o.wait < 0 || o.interval <= 0 {
		return fmt.Errorf("--wait %s or --interval %s is invalid: use durations of more than 0s", o.wait, o.interval)
	}
	session, err := o.open(cmd, name)
	if err != nil {
		return err
	}
	defer session.Close()
	v := validation{
		name: session.Key().Name, observe: session.Observe, output: &o.output, wait: o.wait, interval: o.interval,
		clock: clock.RealClock{}, out: cmd.OutOrStdout(), progress: cmd.ErrOrStderr(),
	}
	return v.run(cmd.Context())
}

// open begins a session with the cluster of that name in the state.
func (o *options) open(cmd *cobra.Command, name string) (*live.Session, error) {
	ctx := cmd.Context()
	klog.SetLogger(logr.Discard()) // client-go's log about closed connections is not for users.
	from, name, err := o.state.OpenCluster(cmd, name)
	if err != nil {
		return nil, err
	}
	objects, err := from.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	clients, err := awsapi.New(ctx, awsapi.Options{Region: objects.Cluster.Spec.Region, UserAgent: "aws-operator/" + version.String()})
	if err != nil {
		return nil, err
	}
	warnOfBackups(cmd, clients, objects.Cluster, from.Kubernetes() == nil)
	return live.Open(live.Options{
		Clients: clients, Cluster: objects.Cluster, Groups: objects.Groups, Secrets: objects.Secrets, Validity: o.wait + time.Hour,
	}), nil
}

// warnOfBackups reports on standard error that etcd is not backed up. It is no problem of the
// cluster's health, so it does not change the result.
func warnOfBackups(cmd *cobra.Command, clients *awsapi.Clients, cluster *v1alpha1.Cluster, noOperator bool) {
	warning, err := backups.Warning(cmd.Context(), clients, cluster, clock.RealClock{}.Now())
	switch {
	case err != nil:
		warning = "The backups are not checked: " + err.Error()
	case noOperator && warning == "":
		warning = model.NoBackups(cluster)
	}
	if warning != "" {
		cmd.PrintErrln(warning)
	}
}
