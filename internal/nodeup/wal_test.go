package nodeup

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
)

// The ID in a log that etcd's own library writes is read.
func TestMemberIDOfAWriteAheadLog(t *testing.T) {
	for _, id := range []uint64{1, 0x8e9e05c52164694d, 1<<64 - 1} {
		folder := filepath.Join(t.TempDir(), "wal")
		metadata, err := (&etcdserverpb.Metadata{NodeID: id, ClusterID: 7}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		log, err := wal.Create(zap.NewNop(), folder, metadata)
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if got, cluster, err := memberID(folder); err != nil || got != strconv.FormatUint(id, 10) || cluster != "7" {
			t.Errorf("the ID %d in cluster 7 is read as %q in %q, %v", id, got, cluster, err)
		}
	}
}

func FuzzMemberID(f *testing.F) {
	f.Add([]byte{4, 0, 0, 0, 0, 0, 0, 0x84, 8, 1, 26, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, content []byte) {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "0.wal"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, _ = memberID(folder) // It must end, and not panic.
	})
}
