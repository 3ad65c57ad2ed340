// Package backups implements the command backups, which lists, verifies and restores the backups of
// etcd that a cluster's control plane puts into its bucket.
package backups

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/etcdbackup"
)

// Command returns the command.
func Command() *cobra.Command { return command(clock.RealClock{}) }

func command(clk clock.PassiveClock) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backups",
		Short: "List, verify and restore the backups of etcd in a cluster's bucket",
		Long: `List, verify and restore the backups of etcd that the control plane's nodes put into the bucket of a
cluster with spec.backup.bucket. The snapshots of etcd's volumes, which an operator takes, are in
the Cluster's status.`,
		Example: `  aws-operator backups list demo --state ./state
  aws-operator backups verify demo --state ./state`,
	}
	cmd.AddCommand(listCommand(clk), verifyCommand(clk), restoreCommand(clk))
	return cmd
}

type listOptions struct {
	state  flags.State
	output flags.Output
	clock  clock.PassiveClock
}

// backup is a backup in the output.
type backup struct {
	Key   string    `json:"key"`
	Time  time.Time `json:"time"`
	Slot  int       `json:"slot"`
	Bytes int64     `json:"bytes"`
}

func listCommand(clk clock.PassiveClock) *cobra.Command {
	o := listOptions{clock: clk}
	cmd := &cobra.Command{
		Use:   "list NAME",
		Short: "List the backups in a cluster's bucket, the newest first",
		Long: `List the backups of etcd in a cluster's bucket, the newest first. A warning on standard error
reports that the cluster has no backups, or that the newest is older than two intervals.

Other objects below backups/etcd/ are not listed.`,
		Example: `  aws-operator backups list demo --state ./state
  aws-operator backups list demo -o json | jq -r '.[0].key'`,
		Args:              usage.Name("cluster"),
		ValidArgsFunction: o.state.CompleteCluster,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.state.Add(cmd)
	o.output.Add(cmd, flags.FormatTable, flags.FormatJSON, flags.FormatYAML)
	return cmd
}

func (o *listOptions) run(cmd *cobra.Command, name string) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	from, err := open(cmd, &o.state, name)
	if err != nil {
		return err
	}
	now := o.clock.Now()
	found, err := from.list(cmd.Context(), now)
	if err != nil {
		return err
	}
	list := make([]backup, len(found))
	table := flags.Table{Columns: []string{"BACKUP", "AGE", "SLOT", "BYTES"}}
	for i, one := range found {
		list[i] = backup{Key: one.Key, Time: one.Time, Slot: one.Slot, Bytes: one.Size}
		table.Rows = append(table.Rows, []string{
			one.Key, duration.HumanDuration(now.Sub(one.Time)), strconv.Itoa(one.Slot), strconv.FormatInt(one.Size, 10),
		})
	}
	if len(list) > 0 || o.output.Format != flags.FormatTable {
		if err := o.output.Print(cmd.OutOrStdout(), list, table); err != nil {
			return err
		}
	}
	if warning := warn(from.cluster, found, now); warning != "" {
		cmd.PrintErrln(warning)
	}
	return nil
}

// Warning returns what is wrong with the backups in a cluster's bucket, empty if nothing is or if
// the cluster has none there. It returns an error if they cannot be listed.
func Warning(ctx context.Context, clients *awsapi.Clients, cluster *v1alpha1.Cluster, now time.Time) (string, error) {
	if cluster.Spec.Backup.Bucket == nil {
		return "", nil
	}
	from, err := bucketOf(ctx, clients, cluster)
	if err != nil {
		return "", err
	}
	found, err := from.list(ctx, now)
	if err != nil {
		return "", err
	}
	return warn(cluster, found, now), nil
}

// warn returns what is wrong with the backups of a cluster, empty if nothing is.
func warn(cluster *v1alpha1.Cluster, found []etcdbackup.Backup, now time.Time) string {
	spec := model.SpecOf(cluster).Backup.Bucket
	switch {
	case spec == nil && len(found) == 0:
		return fmt.Sprintf("The nodes of cluster %s make no backups. To have them made, set spec.backup.bucket: {}.", cluster.Name)
	case spec == nil:
		return fmt.Sprintf("The nodes of cluster %s make no more backups, since spec.backup.bucket is not set.", cluster.Name)
	case len(found) == 0:
		return fmt.Sprintf("There are no backups of cluster %s. %s", cluster.Name, findOut)
	case etcdbackup.IsLate(found, spec.Interval.Duration, now):
		return fmt.Sprintf(
			"The newest backup of cluster %s is %s old, but spec.backup.bucket.interval is %s. %s",
			cluster.Name, duration.HumanDuration(now.Sub(found[0].Time)), duration.HumanDuration(spec.Interval.Duration), findOut,
		)
	}
	return ""
}

// findOut says where the reason of a missing backup is.
const findOut = "See the log on the control plane's nodes: journalctl -u nodeup-backup."
