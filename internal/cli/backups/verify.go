package backups

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/exit"
	"github.com/aws-operator/aws-operator/internal/cli/internal/flags"
	"github.com/aws-operator/aws-operator/internal/cli/internal/usage"
	"github.com/aws-operator/aws-operator/internal/cluster/programs"
)

type verifyOptions struct {
	state     flags.State
	output    flags.Output
	key       string
	dir       string
	nodeupDir string
	clock     clock.PassiveClock
}

// report is the program etcd-restore's, with the backup that it is about.
type report struct {
	Key      string `json:"key"`
	Bytes    int64  `json:"bytes"`
	Hash     string `json:"hash"`
	Revision int64  `json:"revision"`
	Keys     int64  `json:"keys"`
	Version  string `json:"version,omitempty"`
}

func verifyCommand(clk clock.PassiveClock) *cobra.Command {
	o := verifyOptions{clock: clk}
	cmd := &cobra.Command{
		Use:   "verify NAME",
		Short: "Restore a backup from a cluster's bucket on this host, to verify it",
		Long: `Download a backup of etcd, verify the hash that etcd appended to it, restore it into a temporary
folder as a node would, and start etcd with the result. Then print its hash, its revision and the
number of its keys. The hash is the one that etcdutl snapshot status prints.

The command runs the program etcd-restore, which is installed beside this one, for Linux. The
folder needs twice the backup's size. It is readable by you only, and deleted at the end: a backup
has all Secrets of the cluster.

It exits with 0 if the backup can be restored, with 3 if it is damaged, and with 1 if it could not
be verified.`,
		Example: `  # The newest backup:
  aws-operator backups verify demo --state ./state

  aws-operator backups verify demo --backup backups/etcd/20261128T184038Z-slot0.db`,
		Args:              usage.Name("cluster"),
		ValidArgsFunction: o.state.CompleteCluster,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.state.Add(cmd)
	o.output.Add(cmd, flags.FormatTable, flags.FormatJSON, flags.FormatYAML)
	set := cmd.Flags()
	set.StringVar(&o.key, "backup", "", "key of the backup, as backups list prints it (default: the newest)")
	set.StringVar(&o.dir, "dir", "", "folder for the temporary files (default: the system's)")
	set.StringVar(&o.nodeupDir, "nodeup-dir", "", "folder with the program etcd-restore (default: the folder of this program)")
	return cmd
}

func (o *verifyOptions) run(cmd *cobra.Command, name string) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	if o.key != "" {
		if err := checkKey(o.key); err != nil {
			return err
		}
	}
	program, err := programs.In(programs.Beside(o.nodeupDir)).FindRestore(v1alpha1.Architecture(runtime.GOARCH))
	if err != nil {
		return err
	}
	from, err := open(cmd, &o.state, name)
	if err != nil {
		return err
	}
	key, err := o.choose(cmd.Context(), from)
	if err != nil {
		return err
	}
	found, err := o.verify(cmd.Context(), from, key, program.Path())
	if err != nil {
		return err
	}
	table := flags.Table{
		Columns: []string{"BACKUP", "HASH", "REVISION", "KEYS", "BYTES"},
		Rows:    [][]string{{key, found.Hash, fmt.Sprint(found.Revision), fmt.Sprint(found.Keys), fmt.Sprint(found.Bytes)}},
	}
	return o.output.Print(cmd.OutOrStdout(), found, table)
}

// choose returns the key of the backup to verify.
func (o *verifyOptions) choose(ctx context.Context, from *bucket) (string, error) {
	if o.key != "" {
		return o.key, nil
	}
	now := o.clock.Now()
	found, err := from.list(ctx, now)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", errors.New(warn(from.cluster, found, now))
	}
	return found[0].Key, nil
}

// verify downloads a backup and restores it. It returns an error with the exit code of a failed
// validation if the backup is damaged.
func (o *verifyOptions) verify(ctx context.Context, from *bucket, key, program string) (*report, error) {
	dir, err := os.MkdirTemp(o.dir, "aws-operator-backup-*")
	if err != nil {
		return nil, fmt.Errorf("make a temporary folder: name another with --dir: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // The system removes the rest.
	snapshot := filepath.Join(dir, "snapshot.db")
	file, err := os.OpenFile(snapshot, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the command's own folder
	if err != nil {
		return nil, fmt.Errorf("make a temporary file: %w", err)
	}
	if err := errors.Join(from.download(ctx, key, file), file.Close()); err != nil {
		return nil, err
	}
	return restore(ctx, program, snapshot, filepath.Join(dir, "etcd"), key)
}

// damaged is the program's exit code for a snapshot that cannot be restored.
const damaged = 3

// restore runs the program that restores the snapshot.
func restore(ctx context.Context, program, snapshot, scratch, key string) (*report, error) {
	var stdout, stderr bytes.Buffer
	run := exec.CommandContext(ctx, program, "--verify="+snapshot, "--scratch="+scratch) //nolint:gosec // the operator's own
	run.Stdout, run.Stderr = &stdout, &stderr
	err := run.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && failed.ExitCode() == damaged {
		return nil, exit.Invalid(fmt.Errorf("the backup %s cannot be restored: %s; verify another one with --backup", key, last(stderr.String())))
	}
	if err != nil {
		return nil, fmt.Errorf("verify the backup %s with %s: %w: %s", key, program, err, last(stderr.String()))
	}
	found := &report{Key: key}
	if err := json.Unmarshal(stdout.Bytes(), found); err != nil {
		return nil, fmt.Errorf("read the report of %s: %w", program, err)
	}
	return found, nil
}

// last returns the last line of a program's output.
func last(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.TrimPrefix(lines[len(lines)-1], "etcd-restore: ")
}
