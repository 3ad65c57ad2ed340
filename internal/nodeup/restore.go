package nodeup

import (
	"context"
	"strings"
)

// restoreProgram is where the program is put that makes a member of etcd of a snapshot's data.
const restoreProgram = stateFolder + "/etcd-restore"

// noData is the program's exit code for a snapshot that no member can be made of.
const noData = 3

// restoreMember makes the slot's member of etcd from what is on a volume that was made from a snapshot, before etcd ever
// runs on it; see package etcdrestore, which knows by itself whether that was done. The program is fetched for that
// only: it is larger than nodeup.
func (b *boot) restoreMember(ctx context.Context) (string, error) {
	as := b.bundle.Etcd.Restore
	if as == nil {
		return "nothing, what is on the volume is the slot's own", nil
	}
	if !b.files.exists(restoreProgram) {
		program, err := b.getObject(ctx, as.Program)
		if err != nil {
			return "", err
		}
		if _, err := b.files.write(restoreProgram, program, 0o700); err != nil {
			return "", err
		}
	}
	said, err := b.command(ctx, b.files.path(restoreProgram), "--data-dir="+b.files.path(b.bundle.Etcd.MountPoint), "--snapshot="+as.Snapshot,
		"--name="+as.Name, "--initial-cluster="+as.InitialCluster, "--initial-cluster-token="+as.Token)
	if code, failed := exitCode(err); failed && code == noData {
		return "", permanent("the etcd volume: %w", err)
	}
	return strings.TrimSpace(said), err
}
