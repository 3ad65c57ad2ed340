package etcdrestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.uber.org/zap"

	"github.com/aws-operator/aws-operator/internal/etcdbackup"
)

// Folders on the volume. The first is etcd's own.
const (
	memberFolder = "member"
	// fromPrefix and the snapshot's ID name the folder that the snapshot's data is moved to.
	fromPrefix = "from-"
	// halfFolder is where the member grows.
	halfFolder = "half-made"
	// beforeFolder is the member that a restore in place has replaced. Only the last is kept.
	beforeFolder = memberFolder + ".before-restore"
)

// Options say which member is made of what.
type Options struct {
	// DataDir is etcd's data directory, which holds the data of a snapshot.
	DataDir string
	// Snapshot names the snapshot, for example snap-0123456789abcdef0. For [RunFile], it is the one
	// that the volume was created from, if any.
	Snapshot string
	// Name is the member's name, one of those in InitialCluster, which is the list of members and
	// their peer URLs as etcd's --initial-cluster has it. Token is its --initial-cluster-token; it
	// has to be another for each snapshot.
	Name, InitialCluster, Token string
	// Log receives the log of etcd's own code. Its fatal messages end the process.
	Log *zap.Logger
}

// ErrNoData says that a snapshot holds no data of etcd.
var ErrNoData = errors.New("it has no data of etcd; use a snapshot from the Cluster's status.backup")

// Run makes the member, and reports whether it had to: it leaves an existing one alone, whatever
// etcd has written since. It recognizes one by the member's log, which begins with the identity of
// its cluster. So it can be killed at any point: the snapshot's data stays until the member is in
// place, and a partial member is re-created.
func Run(ctx context.Context, o Options) (made bool, err error) {
	member, half := filepath.Join(o.DataDir, memberFolder), filepath.Join(o.DataDir, halfFolder)
	from := filepath.Join(o.DataDir, fromPrefix+o.Snapshot)
	was, err := o.isMember()
	if err != nil {
		return false, err
	}
	if was || o.isInPlace() {
		return false, tidy(o.DataDir)
	}
	if err := setAside(member, filepath.Join(from, memberFolder)); err != nil {
		return false, fmt.Errorf("the snapshot %s: %w", o.Snapshot, err)
	}
	if err := os.RemoveAll(half); err != nil {
		return false, fmt.Errorf("remove incomplete files: %w", err)
	}
	if err := replay(ctx, from, o.Name, o.Log); err != nil {
		return false, err
	}
	if err := o.reform(from, half); err != nil {
		return false, err
	}
	if err := move(filepath.Join(half, memberFolder), member); err != nil {
		return false, err
	}
	if err := os.RemoveAll(filepath.Join(o.DataDir, etcdbackup.InPlaceFile)); err != nil {
		return false, fmt.Errorf("remove the record of a former restore: %w", err)
	}
	return true, tidy(o.DataDir)
}

// isInPlace reports whether the member was restored in place after the volume was created from the
// snapshot. It is of another cluster than the snapshot's then, and must not be made of the snapshot
// once more, for example when its instance is replaced. A volume that was created from a snapshot of
// this one has the record, too, which names another snapshot than its own.
func (o *Options) isInPlace() bool {
	after, err := os.ReadFile(filepath.Join(o.DataDir, etcdbackup.InPlaceFile))
	if err != nil || string(after) != o.Snapshot {
		return false
	}
	_, err = os.Stat(filepath.Join(o.DataDir, memberFolder))
	return err == nil
}

// noteInPlace records that the member is restored in place.
func (o *Options) noteInPlace() error {
	name := filepath.Join(o.DataDir, etcdbackup.InPlaceFile)
	if err := os.WriteFile(name+".new", []byte(o.Snapshot), 0o600); err != nil {
		return fmt.Errorf("record the restore: %w", err)
	}
	return move(name+".new", name)
}

// RunFile makes the member from a snapshot of etcd's API, in a data directory that etcd has run on
// and does not run on now. It reports whether it had to, as [Run] does, and can be killed at any
// point. The former member is kept beside the new one. It returns [ErrDamaged], and changes nothing,
// if the snapshot cannot be restored.
func RunFile(o Options, file string) (made bool, err error) {
	member, half := filepath.Join(o.DataDir, memberFolder), filepath.Join(o.DataDir, halfFolder)
	was, err := o.isMember()
	if err != nil || was {
		return false, err
	}
	if _, err := verifyHash(file); err != nil {
		return false, err
	}
	if err := os.RemoveAll(half); err != nil {
		return false, fmt.Errorf("remove incomplete files: %w", err)
	}
	if err := o.restore(file, half, false); err != nil {
		return false, err
	}
	if err := o.noteInPlace(); err != nil {
		return false, err
	}
	if _, err := os.Stat(member); err == nil {
		before := filepath.Join(o.DataDir, beforeFolder)
		if err := os.RemoveAll(before); err != nil {
			return false, fmt.Errorf("remove the data from before an earlier restore: %w", err)
		}
		if err := move(member, before); err != nil {
			return false, err
		}
	}
	if err := move(filepath.Join(half, memberFolder), member); err != nil {
		return false, err
	}
	return true, tidy(o.DataDir)
}

// setAside moves the snapshot's data away from where etcd's own is to be, unless that is done.
func setAside(member, to string) error {
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	if _, err := os.Stat(member); os.IsNotExist(err) {
		return ErrNoData
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	return move(member, to)
}

// move gives a file or a folder another name, for good when it returns.
func move(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("move a folder: %w", err)
	}
	for _, name := range []string{filepath.Dir(from), filepath.Dir(to)} {
		folder, err := os.Open(name) //nolint:gosec // The caller's own folder.
		if err != nil {
			return fmt.Errorf("open a folder: %w", err)
		}
		if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
			return fmt.Errorf("write a folder: %w", err)
		}
	}
	return nil
}

// tidy removes what is not needed once the member is made.
func tidy(dataDir string) error {
	names, err := filepath.Glob(filepath.Join(dataDir, fromPrefix+"*"))
	if err != nil {
		return fmt.Errorf("find the snapshot's data: %w", err)
	}
	for _, name := range append(names, filepath.Join(dataDir, halfFolder)) {
		if err := os.RemoveAll(name); err != nil {
			return fmt.Errorf("remove the snapshot's data: %w", err)
		}
	}
	return nil
}
