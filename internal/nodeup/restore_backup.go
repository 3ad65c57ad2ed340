package nodeup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/etcdbackup"
)

const (
	// heldFolder has the manifests of static pods that are stopped for a restore.
	heldFolder = stateFolder + "/restore/manifests"
	// restoreFile is the backup that is restored.
	restoreFile = stateFolder + "/restore/etcd.db"
	// stopTimeout bounds how long the kubelet takes to stop etcd, stopPoll is how often to look.
	stopTimeout, stopPoll = 5 * time.Minute, time.Second
)

// Restoration is a backup in the bucket to restore the slot's etcd from, in place.
type Restoration struct {
	// Key is the backup's key in the bucket.
	Key string
	// ProgramSHA256 is the hash of the program that restores, in hex, which aws-operator puts into
	// the bucket for this.
	ProgramSHA256 string
	// Token distinguishes the restored cluster from all others. It is the same on all slots.
	Token string
}

// RestoreBackup stops the slot's control plane, replaces the data of its etcd member by that of a
// backup, and starts it again. A user runs it on all slots at the same time: the restored members
// have a quorum when a majority of the slots is done. Until the backup is downloaded and verified,
// it changes nothing. If it is interrupted, the same command continues.
func RestoreBackup(ctx context.Context, options Options, from Restoration) error {
	b := &boot{Options: options, files: files{root: options.Root}}
	if _, ok := etcdbackup.Parse(from.Key); !ok {
		return fmt.Errorf("%q is not the key of a backup: name one that aws-operator backups list prints", from.Key)
	}
	if from.ProgramSHA256 == "" || !tokenName(from.Token) {
		return errors.New("--restore-program and --restore-token are needed: run the command that aws-operator backups restore prints")
	}
	if _, err := b.readBundle(ctx); err != nil {
		return err
	}
	if b.bundle.Etcd == nil {
		return permanent("this machine is not of the control plane: run the command on the slots")
	}
	for _, step := range []struct {
		name string
		run  func(context.Context, Restoration) error
	}{
		{"download the program", b.fetchRestoreProgram},
		{"download the backup", b.fetchBackup},
		{"stop the control plane", b.stopControlPlane},
		{"restore etcd", b.restoreFile},
		{"start the control plane", b.startControlPlane},
	} {
		started := b.Clock.Now()
		if err := step.run(ctx, from); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		b.Log.Info(step.name, "took", b.since(started))
	}
	return nil
}

// tokenName reports whether a token can be part of keys and names.
func tokenName(token string) bool {
	return token != "" && !strings.ContainsFunc(token, func(r rune) bool { return (r < '0' || r > '9') && (r < 'A' || r > 'Z') })
}

// fetchRestoreProgram installs the program that restores.
func (b *boot) fetchRestoreProgram(ctx context.Context, from Restoration) error {
	key := bundle.RestoreKey(from.Token, b.bundle.Architecture)
	program, err := b.getObject(ctx, key)
	if err != nil {
		return err
	}
	if hash := bundle.HashOf(program); hash != from.ProgramSHA256 {
		return fmt.Errorf("the program %s in the bucket has the SHA-256 %s, but %s is expected", key, hash, from.ProgramSHA256)
	}
	_, err = b.files.write(restoreProgram, program, 0o700)
	return err
}

// fetchBackup downloads the backup and verifies it.
func (b *boot) fetchBackup(ctx context.Context, from Restoration) error {
	path := b.files.path(restoreFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	found, err := b.AWS.Objects.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Bucket, Key: &from.Key})
	if err != nil {
		return b.refused("download", from.Key, "s3:GetObject and kms:Decrypt", err)
	}
	defer found.Body.Close() //nolint:errcheck // It was only read.
	limit, err := b.roomFor(uint64(max(aws.ToInt64(found.ContentLength), 0)))
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // nodeup's own file
	if err != nil {
		return fmt.Errorf("make a file: %w", err)
	}
	var hash etcdbackup.Hash
	_, err = io.Copy(io.MultiWriter(file, &hash), io.LimitReader(found.Body, int64(limit))) //nolint:gosec // at most 5 GiB
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", restoreFile, err)
	}
	if err := hash.Verify(); err != nil {
		return fmt.Errorf("the backup %s is damaged, restore another one: %w", from.Key, err)
	}
	return nil
}

// stopControlPlane takes the manifests of the static pods away from the kubelet, which stops them,
// and waits until etcd does not listen any more. The API servers have to stop as well: they would
// mix what they have cached with what is restored.
// https://kubernetes.io/docs/tasks/administer-cluster/configure-upgrade-etcd/#restoring-an-etcd-cluster
func (b *boot) stopControlPlane(ctx context.Context, _ Restoration) error {
	if err := b.moveManifests(manifestFolder, heldFolder); err != nil {
		return err
	}
	deadline := b.Clock.Now().Add(stopTimeout)
	for b.listens(ctx) {
		if b.Clock.Now().After(deadline) {
			return errors.Join(
				errors.New("etcd still listens after five minutes; check that the kubelet runs; the control plane is started again"),
				b.moveManifests(heldFolder, manifestFolder),
			)
		}
		if b.pause(ctx, stopPoll); ctx.Err() != nil {
			return ctx.Err() //nolint:wrapcheck // The caller says what was tried.
		}
	}
	return nil
}

// listens reports whether the slot's own etcd accepts connections.
func (b *boot) listens(ctx context.Context) bool {
	dial := b.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	connection, err := dial(ctx, "tcp", net.JoinHostPort("127.0.0.1", etcdClientPort))
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}

// restoreFile runs the program that replaces the member's data.
func (b *boot) restoreFile(ctx context.Context, from Restoration) error {
	etcd := b.bundle.Etcd
	own, members := "", make([]string, 0, len(etcd.Members))
	for _, name := range slices.Sorted(maps.Keys(etcd.Members)) {
		if etcd.Members[name] == etcd.DNSName {
			own = name
		}
		members = append(members, name+"=https://"+net.JoinHostPort(etcd.Members[name], etcdPeerPort))
	}
	args := []string{
		"--data-dir=" + b.files.path(etcd.MountPoint),
		"--file=" + b.files.path(restoreFile),
		"--name=" + own,
		"--initial-cluster=" + strings.Join(members, ","),
		"--initial-cluster-token=" + b.bundle.Cluster + "-" + from.Token,
	}
	if etcd.Restore != nil {
		args = append(args, "--snapshot="+etcd.Restore.Snapshot) // so that a later boot does not restore it again
	}
	did, err := b.command(ctx, b.files.path(restoreProgram), args...)
	if err != nil {
		return fmt.Errorf("the control plane of this slot stays stopped; run the command again: %w", err)
	}
	b.Log.Info("etcd-restore", "did", strings.TrimSpace(did))
	return nil
}

// startControlPlane gives the manifests back to the kubelet.
func (b *boot) startControlPlane(context.Context, Restoration) error {
	if err := b.moveManifests(heldFolder, manifestFolder); err != nil {
		return err
	}
	return b.files.remove(restoreFile)
}

// moveManifests moves the manifests of one folder to another. One that has been moved is not there
// any more, so it can be done again.
func (b *boot) moveManifests(from, to string) error {
	entries, err := os.ReadDir(b.files.path(from))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list the manifests of static pods: %w", err)
	}
	if err := os.MkdirAll(b.files.path(to), 0o700); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() || filepath.Ext(entry.Name()) != ".yaml" {
			continue
		}
		if err := os.Rename(b.files.path(from+"/"+entry.Name()), b.files.path(to+"/"+entry.Name())); err != nil {
			return fmt.Errorf("move the manifest of a static pod: %w", err)
		}
	}
	return nil
}
