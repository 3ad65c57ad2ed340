package etcdrestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.uber.org/zap"

	"github.com/aws-operator/aws-operator/internal/etcdbackup"
)

// ErrDamaged says that a snapshot cannot be restored.
var ErrDamaged = errors.New("the snapshot is damaged")

// Report is what a snapshot holds.
type Report struct {
	// Bytes is its size.
	Bytes int64 `json:"bytes"`
	// Hash is the hash of its keys and values in hex, as etcdutl snapshot status prints it.
	Hash string `json:"hash"`
	// Revision is etcd's revision.
	Revision int64 `json:"revision"`
	// Keys is the number of keys that a client of the restored etcd reads.
	Keys int64 `json:"keys"`
	// Version is etcd's storage version, for example 3.6.0.
	Version string `json:"version,omitempty"`
}

// Verify restores a snapshot, as a slot would, into a scratch folder, which must not exist and which
// the caller removes. It starts etcd on the result and reads the number of keys from it. It returns
// [ErrDamaged] if the snapshot cannot be restored, and other errors if that is not known.
func Verify(ctx context.Context, file, scratch string, log *zap.Logger) (Report, error) {
	size, err := verifyHash(file)
	if err != nil {
		return Report{}, err
	}
	status, err := snapshot.NewV3(log).Status(file)
	if err != nil {
		return Report{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	report := Report{
		Bytes: size, Hash: fmt.Sprintf("%08x", status.Hash), Revision: status.Revision, Version: status.Version,
	}
	const name = "scratch"
	o := Options{Name: name, InitialCluster: name + "=http://127.0.0.1:2380", Token: name, Log: log}
	if err := o.restore(file, scratch, false); err != nil {
		return report, err
	}
	err = serve(ctx, scratch, name, log, func(server *etcdserver.EtcdServer) error {
		// A range from a zero byte to a zero byte is that of all keys:
		// https://etcd.io/docs/v3.6/learning/api/#key-ranges
		found, err := server.Range(ctx, &etcdserverpb.RangeRequest{Key: []byte{0}, RangeEnd: []byte{0}, CountOnly: true})
		if err != nil {
			return fmt.Errorf("read its keys: %w", err)
		}
		report.Keys = found.Count
		return nil
	})
	if err != nil {
		return report, fmt.Errorf("start etcd with the restored data: %w", err)
	}
	if report.Keys != int64(status.TotalKey) {
		return report, fmt.Errorf("%w: it has %d keys, but the restored etcd has %d", ErrDamaged, status.TotalKey, report.Keys)
	}
	return report, nil
}

// verifyHash compares the hash that etcd appended to the snapshot, and returns its size in bytes.
func verifyHash(name string) (int64, error) {
	file, err := os.Open(filepath.Clean(name))
	if err != nil {
		return 0, fmt.Errorf("read the snapshot: %w", err)
	}
	defer file.Close() //nolint:errcheck // It was only read.
	var hash etcdbackup.Hash
	size, err := io.Copy(&hash, file)
	if err != nil {
		return 0, fmt.Errorf("read the snapshot: %w", err)
	}
	if err := hash.Verify(); err != nil {
		return size, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return size, nil
}
