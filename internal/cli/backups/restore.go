package backups

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/awsapi"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/model"
	"github.com/aws-operator/aws-operator/internal/cluster/programs"
	"github.com/aws-operator/aws-operator/internal/etcdbackup"
)

// tokenForm is the form of a restore's name, a time in UTC: each restore needs another name.
const tokenForm = "20060102T150405Z"

type restoreOptions struct {
	state     flags.State
	confirm   flags.Confirm
	key       string
	nodeupDir string
	clock     clock.PassiveClock
}

func restoreCommand(clk clock.PassiveClock) *cobra.Command {
	o := restoreOptions{clock: clk}
	cmd := &cobra.Command{
		Use:   "restore NAME --backup KEY",
		Short: "Print how to restore etcd from a backup in the bucket, and with --yes prepare it",
		Long: `Print the command that restores etcd from a backup in a cluster's bucket. Run it on all slots of
the control plane at the same time, for example over SSH. Each of them downloads and verifies the
backup, stops its control plane, replaces the data of its etcd member, and starts the control
plane again. Until a majority of the slots is done, the Kubernetes API is unavailable. Everything
that was written since the backup is lost.

With --yes, upload the program etcd-restore to the bucket, which the printed command needs. That
changes nothing else. Each run prints another command: use the same one on all slots.`,
		Example: `  aws-operator backups restore demo --backup backups/etcd/20261128T184038Z-slot0.db
  aws-operator backups restore demo --backup backups/etcd/20261128T184038Z-slot0.db --yes`,
		Args:              usage.Name("cluster"),
		ValidArgsFunction: o.state.CompleteCluster,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.state.Add(cmd)
	o.confirm.Add(cmd)
	set := cmd.Flags()
	set.StringVar(&o.key, "backup", "", "key of the backup, as backups list prints it")
	set.StringVar(&o.nodeupDir, "nodeup-dir", "", "folder with the program etcd-restore (default: the folder of this program)")
	_ = cmd.MarkFlagRequired("backup")
	return cmd
}

func (o *restoreOptions) run(cmd *cobra.Command, name string) error {
	if err := checkKey(o.key); err != nil {
		return err
	}
	from, err := open(cmd, &o.state, name)
	if err != nil {
		return err
	}
	architecture := model.ArchitectureOf(model.SpecOf(from.cluster).ControlPlane.InstanceType)
	program, err := programs.In(programs.Beside(o.nodeupDir)).FindRestore(architecture)
	if err != nil {
		return err
	}
	sum, err := program.Sum()
	if err != nil {
		return err
	}
	now := o.clock.Now()
	found, err := from.list(cmd.Context(), now)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(found, func(b etcdbackup.Backup) bool { return b.Key == o.key }) {
		return fmt.Errorf("cluster %s has no backup %s: name one that aws-operator backups list %s prints", name, o.key, name)
	}
	token := now.UTC().Format(tokenForm)
	if o.confirm.Yes {
		if err := from.uploadProgram(cmd.Context(), program, token, architecture); err != nil {
			return err
		}
	}
	cmd.Printf(`sudo /var/lib/nodeup/nodeup --bucket %s --region %s --bundle "$(sudo cat /var/lib/nodeup/done)" \
  --restore %s --restore-program %s --restore-token %s
`, from.name, from.cluster.Spec.Region, o.key, sum, token)
	if !o.confirm.Yes {
		cmd.PrintErrln("Nothing has been changed, and the command does not work yet. To upload the program that it needs, add --yes.")
		return nil
	}
	cmd.PrintErrf("Run this command on all %d slots of cluster %s at the same time. Everything written since the backup is lost.\n",
		model.SpecOf(from.cluster).ControlPlane.Replicas, name)
	return nil
}

// checkKey returns an error for what is not the key of a backup.
func checkKey(key string) error {
	if _, ok := etcdbackup.Parse(key); !ok {
		return fmt.Errorf("--backup %s is not the key of a backup: name one that aws-operator backups list prints", key)
	}
	return nil
}

// uploadProgram puts the program where the slots of a restore find it.
func (b *bucket) uploadProgram(ctx context.Context, program programs.File, token string, architecture v1alpha1.Architecture) error {
	body, err := program.Open()
	if err != nil {
		return err
	}
	key := bundle.RestoreKey(token, string(architecture))
	_, err = b.api.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.name, Key: &key, Body: body, ExpectedBucketOwner: &b.account, ContentType: aws.String("application/octet-stream"),
	})
	if err != nil {
		err = fmt.Errorf("upload %s to the bucket %s: %w", key, b.name, awsapi.Explain(err))
	}
	return errors.Join(err, body.Close())
}
