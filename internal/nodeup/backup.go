package nodeup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/aws-operator/aws-operator/internal/etcdbackup"
)

const (
	// backupUnit runs [BackUp].
	backupUnit = "nodeup-backup.service"
	// backupFile is where a snapshot is until it is uploaded. It is on the root volume: a full volume
	// of etcd's would stop the member.
	backupFile = stateFolder + "/etcd-backup.db"
	// backupRetry is the longest wait before a backup is tried again, backupAgain the longest before
	// a slot looks whether one is due, should the clock be set meanwhile.
	backupRetry, backupAgain = 5 * time.Minute, time.Hour
	// backupTimeout bounds one backup.
	backupTimeout = 30 * time.Minute
	// reservedPercent of the root volume stay free, which is the least that the kubelet wants for
	// images: with less, it evicts pods.
	// https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#hard-eviction-thresholds
	reservedPercent = 15
	// maxUpload is the largest object that one request can upload.
	// https://docs.aws.amazon.com/AmazonS3/latest/userguide/upload-objects.html
	maxUpload = 5 << 30
)

// startBackupUnit makes the slot take its turns at backing up etcd, if the cluster has backups in
// its bucket.
func (b *boot) startBackupUnit(ctx context.Context) (string, error) {
	if b.bundle.Etcd.Backup == nil {
		return "nothing, spec.backup.bucket is not set", nil
	}
	return b.startUnit(ctx, backupUnit, "Backs up etcd of the cluster "+b.bundle.Cluster, "--back-up")
}

// BackUp backs up etcd to the cluster's bucket on schedule, until the context ends. All slots do
// this, in turns (package etcdbackup). A backup that fails is logged and tried again; when the turn
// of the next slot comes, that slot makes it.
func BackUp(ctx context.Context, options Options) error {
	b := &boot{Options: options, files: files{root: options.Root}}
	if err := b.runOne(ctx, task{"bundle", (*boot).readBundle, lastRetry}); err != nil {
		return err
	}
	if b.bundle.Etcd == nil || b.bundle.Etcd.Backup == nil {
		return permanent("the bundle has no backups to make")
	}
	if err := b.files.remove(backupFile); err != nil { // A run that was killed leaves it.
		return err
	}
	began := b.Clock.Now()
	var due time.Time
	for {
		err := b.runOne(ctx, task{"etcd backup", func(b *boot, ctx context.Context) (did string, err error) {
			did, due, err = b.backUpIfDue(ctx, began)
			return did, err
		}, backupRetry})
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-b.Clock.After(min(max(due.Sub(b.Clock.Now()), 0), backupAgain)):
		}
	}
}

// backUpIfDue makes a backup if it is the slot's turn, and returns when that is next.
func (b *boot) backUpIfDue(ctx context.Context, began time.Time) (did string, due time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, backupTimeout)
	defer cancel()
	backups, err := b.listBackups(ctx)
	if err != nil {
		return "", due, err
	}
	if due = b.backupDue(backups, began); due.After(b.Clock.Now()) {
		return "nothing, the next backup of this slot is due at " + due.UTC().Format(time.RFC3339), due, nil
	}
	made, err := b.makeBackup(ctx)
	if err != nil {
		return "", due, err
	}
	backups = append([]etcdbackup.Backup{made}, backups...)
	did = fmt.Sprintf("uploaded %s, %d bytes", made.Key, made.Size)
	for _, old := range etcdbackup.Surplus(backups, b.bundle.Etcd.Backup.Keep) {
		if _, err := b.AWS.Objects.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.Bucket, Key: &old.Key}); err != nil {
			// It is deleted with the next backup, which must not wait for it.
			b.Log.Warn("a backup beyond spec.backup.bucket.keep remains", "error", b.refused("delete", old.Key, "s3:DeleteObject", err))
			continue
		}
		did += ", deleted " + old.Key
	}
	return did, b.backupDue(backups, began), nil
}

// backupDue returns when the slot's next turn is.
func (b *boot) backupDue(backups []etcdbackup.Backup, began time.Time) time.Time {
	etcd := b.bundle.Etcd
	return etcdbackup.Due(backups, etcd.Slot, len(etcd.Members), time.Duration(etcd.Backup.IntervalSeconds)*time.Second, began)
}

// listBackups returns the backups in the bucket, the newest first.
func (b *boot) listBackups(ctx context.Context) ([]etcdbackup.Backup, error) {
	backups, err := etcdbackup.List(ctx, b.AWS.Objects, b.Bucket, "", b.Clock.Now())
	if err != nil {
		return nil, b.refused("list", etcdbackup.Prefix, "s3:ListBucket", err)
	}
	return backups, nil
}

// makeBackup takes a snapshot of the slot's own member and uploads it. S3 encrypts it with the
// cluster's key, the bucket's default.
func (b *boot) makeBackup(ctx context.Context) (etcdbackup.Backup, error) {
	at := b.Clock.Now().Truncate(time.Second)
	made := etcdbackup.Backup{Key: etcdbackup.Key(at, b.bundle.Etcd.Slot), Time: at, Slot: b.bundle.Etcd.Slot}
	defer b.files.remove(backupFile) //nolint:errcheck // The next snapshot replaces it.
	if err := b.saveSnapshot(ctx); err != nil {
		return made, err
	}
	file, err := os.Open(b.files.path(backupFile))
	if err != nil {
		return made, fmt.Errorf("read the snapshot of etcd: %w", err)
	}
	defer file.Close() //nolint:errcheck // It was only read.
	info, err := file.Stat()
	if err != nil {
		return made, fmt.Errorf("read the snapshot of etcd: %w", err)
	}
	made.Size = info.Size()
	_, err = b.AWS.Objects.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.Bucket, Key: &made.Key, Body: file, ContentLength: &made.Size, ContentType: aws.String("application/octet-stream"),
	})
	if err != nil {
		return made, b.refused("upload", made.Key, "s3:PutObject and kms:GenerateDataKey", err)
	}
	return made, nil
}

// refused explains an error of S3. If access is denied, it names the permissions and how the slot
// gets them.
func (b *boot) refused(verb, key, permissions string, err error) error {
	err = fmt.Errorf("%s %s in the bucket %s: %w", verb, key, b.Bucket, err)
	if failure, ok := errors.AsType[smithy.APIError](err); ok && failure.ErrorCode() == "AccessDenied" {
		return fmt.Errorf("%w; the control plane's role needs %s for %s*: apply the cluster's definition, which gives it to the role, "+
			"and check the bucket's policy and the organization's policies", err, permissions, etcdbackup.Prefix)
	}
	return err
}

// saveSnapshot writes a snapshot of the slot's own member to the disk and verifies it. The member
// first reads with a quorum: one that lags behind, or has lost the others, makes no backup.
func (b *boot) saveSnapshot(ctx context.Context) error {
	client, err := b.etcdClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	own := b.bundle.Etcd.DNSName
	if err := b.askHealth(ctx, client, own); err != nil {
		return fmt.Errorf("etcd of slot %d makes no backup: %w", b.bundle.Etcd.Slot, err)
	}
	var status struct {
		DBSize string `json:"dbSize"`
	}
	if err := b.askEtcd(ctx, client, own, "/v3/maintenance/status", map[string]any{}, &status); err != nil {
		return err
	}
	size, err := strconv.ParseUint(status.DBSize, 10, 64)
	if err != nil {
		return fmt.Errorf("etcd reports the size %q of its database", status.DBSize)
	}
	limit, err := b.roomFor(size)
	if err != nil {
		return err
	}
	response, err := b.openEtcd(ctx, client, own, "/v3/maintenance/snapshot", map[string]any{})
	if err != nil {
		return fmt.Errorf("take a snapshot of etcd: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	if err := b.writeSnapshot(response.Body, limit); err != nil {
		return fmt.Errorf("take a snapshot of etcd: %w", err)
	}
	return nil
}

// roomFor returns how large a snapshot may get, or an error if the database is larger.
func (b *boot) roomFor(size uint64) (limit uint64, err error) {
	space := b.Space
	if space == nil {
		space = spaceOf
	}
	folder := b.files.path(stateFolder)
	free, total, err := space(folder)
	if err != nil {
		return 0, fmt.Errorf("find the free space of %s: %w", folder, err)
	}
	reserved := total / 100 * reservedPercent //nolint:mnd // percent
	if free < reserved+size {
		return 0, fmt.Errorf("the root volume has %d MiB free, but a snapshot of etcd needs %d MiB and %d MiB must stay free: "+
			"remove files, or increase spec.controlPlane.rootVolume", free>>20, size>>20, reserved>>20) //nolint:mnd // MiB
	}
	if size > maxUpload {
		return 0, fmt.Errorf("etcd's database has %d MiB, but a backup in the bucket has at most %d MiB: remove objects and defragment etcd",
			size>>20, maxUpload>>20) //nolint:mnd // MiB
	}
	return min(free-reserved, maxUpload), nil
}

// spaceOf returns the space that a folder's file system has for root, and in all.
func spaceOf(folder string) (free, total uint64, err error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(folder, &stat); err != nil {
		return 0, 0, err //nolint:wrapcheck // The caller says what it was.
	}
	block := uint64(stat.Bsize) //nolint:gosec // It is positive.
	return stat.Bavail * block, stat.Blocks * block, nil
}

// writeSnapshot writes what etcd sends to the disk, at most limit bytes, and verifies it.
func (b *boot) writeSnapshot(from io.Reader, limit uint64) error {
	path := b.files.path(backupFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // nodeup's own folder.
		return fmt.Errorf("make a folder: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // nodeup's own file
	if err != nil {
		return fmt.Errorf("make a file: %w", err)
	}
	err = copySnapshot(file, from, limit)
	if closeErr := file.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("write %s: %w", backupFile, closeErr)
	}
	return err
}

// snapshotPart is a part of the stream of a snapshot, in the form of etcd's JSON gateway.
// https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/
type snapshotPart struct {
	Result struct {
		Blob []byte `json:"blob"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// copySnapshot copies a stream of parts and compares the hash that etcd appends to the database.
// Without it, a snapshot that ends early would pass for a complete one.
func copySnapshot(to io.Writer, from io.Reader, limit uint64) error {
	var check etcdbackup.Hash
	decoder := json.NewDecoder(from)
	for {
		var part snapshotPart
		err := decoder.Decode(&part)
		if errors.Is(err, io.EOF) {
			return check.Verify() //nolint:wrapcheck // The caller says what it was.
		}
		if err != nil {
			return fmt.Errorf("read it: %w", err)
		}
		if part.Error != nil {
			return errors.New(part.Error.Message)
		}
		if check.Size()+uint64(len(part.Result.Blob)) > limit {
			return fmt.Errorf("it became larger than %d MiB while it was read; it is tried again", limit>>20) //nolint:mnd // MiB
		}
		if _, err := to.Write(part.Result.Blob); err != nil {
			return fmt.Errorf("write %s: %w", backupFile, err)
		}
		_, _ = check.Write(part.Result.Blob)
	}
}
