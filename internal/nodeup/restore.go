package nodeup

import (
	"context"
	"strings"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/etcdbackup"
)

// restoreProgram is where the program is put that makes a member of etcd of a snapshot's data.
const restoreProgram = stateFolder + "/etcd-restore"

// noData is the program's exit code for a snapshot that no member can be made of.
const noData = 3

// restoreMember makes the slot's etcd member from the data on a volume that was created from a
// snapshot, before etcd first runs on it. Package etcdrestore detects whether that was done. The
// program is downloaded only for this purpose, since it is larger than nodeup.
func (b *boot) restoreMember(ctx context.Context) (string, error) {
	as := b.bundle.Etcd.Restore
	if as == nil {
		return "nothing, the volume has the slot's own data", nil
	}
	blank, err := b.isReplaced(ctx)
	if err != nil || blank {
		return "nothing, the volume was replaced after the restore and the slot joins the other members", err
	}
	if b.isInPlace(as.Snapshot) {
		return "nothing, the member was restored in place from a backup since", nil
	}
	if !b.hasRestoreProgram(as) {
		program, err := b.getObject(ctx, as.Program)
		if err != nil {
			return "", err
		}
		if hash := bundle.HashOf(program); as.ProgramSHA256 != "" && hash != as.ProgramSHA256 {
			return "", permanent(
				"the program %s in the bucket has the SHA-256 %s; the bundle expects %s",
				as.Program,
				hash,
				as.ProgramSHA256,
			)
		}
		if _, err := b.files.write(restoreProgram, program, 0o700); err != nil {
			return "", err
		}
	}
	said, err := b.command(
		ctx,
		b.files.path(restoreProgram),
		"--data-dir="+b.files.path(b.bundle.Etcd.MountPoint),
		"--snapshot="+as.Snapshot,
		"--name="+as.Name,
		"--initial-cluster="+as.InitialCluster,
		"--initial-cluster-token="+as.Token,
	)
	if code, failed := exitCode(err); failed && code == noData {
		return "", permanent("the etcd volume: %w", err)
	}
	return strings.TrimSpace(said), err
}

// hasRestoreProgram reports whether the program is on the machine, and is the one that the bundle
// asks for.
func (b *boot) hasRestoreProgram(as *bundle.EtcdRestore) bool {
	program, err := b.files.read(restoreProgram)
	return err == nil && (as.ProgramSHA256 == "" || bundle.HashOf(program) == as.ProgramSHA256)
}

// isInPlace reports whether the member was restored in place after the volume was created from the
// snapshot. The program detects that, too, but the bundle may name an older one.
func (b *boot) isInPlace(snapshot string) bool {
	folder := b.bundle.Etcd.MountPoint + "/"
	after, err := b.files.read(folder + etcdbackup.InPlaceFile)
	return err == nil && string(after) == snapshot && b.files.exists(folder+"member")
}

// isReplaced reports whether the volume is a blank one in the place of one that was made from the
// snapshot: the etcd that the snapshot was restored to runs already.
func (b *boot) isReplaced(ctx context.Context) (bool, error) {
	if b.bundle.Etcd.FormedKey == "" || b.files.exists(b.bundle.Etcd.MountPoint+"/member") {
		return false, nil
	}
	return b.formed(ctx)
}
