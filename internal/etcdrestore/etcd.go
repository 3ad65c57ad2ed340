package etcdrestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/etcdserver/api/snap"
	"go.etcd.io/etcd/server/v3/features"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
)

// revisionBump is how far a restored etcd's revision is ahead of its data's, so that it is ahead of
// all that clients of the etcd before have seen: etcd's own example, enough for 1500 writes a
// second over a week. https://etcd.io/docs/v3.6/op-guide/recovery/#restoring-with-revision-bump
const revisionBump = 1_000_000_000

// replayTimeout bounds how long etcd may take to bring its database up to its log.
const replayTimeout = 5 * time.Minute

// commitLog marks all of a member's log as committed. The log of a member has all entries that the
// member has acknowledged, but records how much of it is committed only with the next entry, and
// --force-new-cluster drops what is not known to be committed
// (https://github.com/etcd-io/raft/pull/300): in a cluster of one, that would be the last write
// that a client saw succeed. Entries that were not committed have had no answer yet, so they may be
// applied or not. commitLog is idempotent.
func commitLog(dataDir string, log *zap.Logger) error {
	folder := filepath.Join(dataDir, memberFolder, "wal")
	known, err := wal.ValidSnapshotEntries(log, folder)
	if err != nil {
		return fmt.Errorf("read etcd's log in %s: %w", folder, err)
	}
	var start walpb.Snapshot
	latest, err := snap.New(log, filepath.Join(dataDir, memberFolder, "snap")).LoadNewestAvailable(known)
	switch {
	case err == nil:
		start.Index, start.Term = latest.Metadata.Index, latest.Metadata.Term
	case !errors.Is(err, snap.ErrNoSnapshot):
		return fmt.Errorf("read etcd's snapshots in %s: %w", dataDir, err)
	}
	written, state, entries, err := readLog(folder, start, log)
	if err != nil {
		return fmt.Errorf("read etcd's log in %s: %w", folder, err)
	}
	if n := len(entries); n > 0 && entries[n-1].Index > state.Commit {
		state.Commit = entries[n-1].Index
		err = written.Save(state, nil)
	}
	if err := errors.Join(err, written.Close()); err != nil { // Closing writes it for good.
		return fmt.Errorf("write etcd's log in %s: %w", folder, err)
	}
	return nil
}

// readLog reads a log whose end may be torn, as it is when the power goes: etcd repairs that
// likewise.
func readLog(folder string, start walpb.Snapshot, log *zap.Logger) (*wal.WAL, raftpb.HardState, []raftpb.Entry, error) {
	for repaired := false; ; repaired = true {
		written, err := wal.Open(log, folder, start)
		if err != nil {
			return nil, raftpb.HardState{}, nil, err //nolint:wrapcheck // The caller says what it was.
		}
		_, state, entries, err := written.ReadAll()
		if err == nil {
			return written, state, entries, nil
		}
		written.Close() //nolint:errcheck,gosec // Reading has failed.
		if repaired || !errors.Is(err, io.ErrUnexpectedEOF) || !wal.Repair(log, folder) {
			return nil, raftpb.HardState{}, nil, err //nolint:wrapcheck // The caller says what it was.
		}
	}
}

// replay brings the database in an etcd data directory up to its log. A backup is a copy of the
// directory as the disk had it at one moment, and what etcd had promised by then may be in the log
// only: "taking the snapshot from the member/snap/db file might lose data that has not been written
// yet, but is included in the wal"
// (https://etcd.io/docs/v3.6/op-guide/recovery/#snapshotting-the-keyspace). etcd itself knows how
// to read it: it is started as a cluster of one, as --force-new-cluster does
// (https://etcd.io/docs/v3.6/op-guide/configuration/), listens nowhere, and stops when it has
// announced itself, which comes after all of the log. Leases begin again with the start and are
// longer than it takes, so nothing expires meanwhile, and every member gets the same. It may be
// done again.
func replay(ctx context.Context, dataDir, name string, log *zap.Logger) error {
	if err := commitLog(dataDir, log); err != nil {
		return err
	}
	err := serve(ctx, dataDir, name, log, func(*etcdserver.EtcdServer) error { return nil })
	if err != nil {
		return fmt.Errorf("replay etcd's log in %s: %w", dataDir, err)
	}
	return nil
}

// serve starts etcd on a data directory as a cluster of one, which listens nowhere, and calls visit
// when it is ready.
func serve(ctx context.Context, dataDir, name string, log *zap.Logger, visit func(*etcdserver.EtcdServer) error) error {
	nowhere, err := types.NewURLs([]string{"http://127.0.0.1:2380"})
	if err != nil {
		return err //nolint:wrapcheck // The caller says what it was.
	}
	server, err := etcdserver.NewServer(config.ServerConfig{
		Name: name, DataDir: dataDir, ForceNewCluster: true, Logger: log,
		PeerURLs: nowhere, ClientURLs: nowhere, InitialPeerURLsMap: types.URLsMap{name: nowhere},
		// What etcd's own flags default to.
		TickMs: 100, ElectionTicks: 10, InitialElectionTickAdvance: true, PreVote: true, //nolint:mnd // see above
		SnapshotCount: etcdserver.DefaultSnapshotCount, SnapshotCatchUpEntries: etcdserver.DefaultSnapshotCatchUpEntries,
		MaxTxnOps: 128, MaxRequestBytes: 1536 * 1024, BcryptCost: 10, TokenTTL: 300, AuthToken: "simple", //nolint:mnd // see above
		WarningApplyDuration: time.Minute, WarningUnaryRequestDuration: time.Minute, CompactHashCheckTime: time.Minute,
		V2Deprecation: config.V2DeprDefault, ServerFeatureGate: features.NewDefaultServerFeatureGate(name, log),
	})
	if err != nil {
		return err //nolint:wrapcheck // The caller says what it was.
	}
	ctx, cancel := context.WithTimeout(ctx, replayTimeout)
	defer cancel()
	server.Start()
	defer server.Stop()
	select {
	case <-server.ReadyNotify():
		return visit(server)
	case <-server.StopNotify():
		return errors.New("etcd exited while it started; see its output above")
	case <-ctx.Done():
		return fmt.Errorf("etcd starts: %w", ctx.Err())
	}
}

// isMember reports whether the member in an etcd data directory, if there is one, is of the cluster
// that a restore makes. Its log begins with who it is.
func (o *Options) isMember() (bool, error) {
	files, err := filepath.Glob(filepath.Join(o.DataDir, memberFolder, "wal", "*.wal"))
	if err != nil || len(files) == 0 {
		return false, err //nolint:wrapcheck // The pattern is good.
	}
	members, err := types.NewURLsMap(o.InitialCluster)
	if err != nil {
		return false, fmt.Errorf("the list of members: %w", err)
	}
	cluster, err := membership.NewClusterFromURLsMap(zap.NewNop(), o.Token, members)
	if err != nil {
		return false, fmt.Errorf("the list of members: %w", err)
	}
	self := cluster.MemberByName(o.Name)
	if self == nil {
		return false, fmt.Errorf("the list of members %s has no %s", o.InitialCluster, o.Name)
	}
	found, err := identity(files[0]) // They are sorted, and each begins with it.
	if err != nil {
		return false, err
	}
	return found.ClusterID == uint64(cluster.ID()) && found.NodeID == uint64(self.ID), nil
}

// identity reads who wrote a file of etcd's log.
func identity(name string) (*etcdserverpb.Metadata, error) {
	file, err := os.Open(name) //nolint:gosec // The slot's own volume.
	if err != nil {
		return nil, fmt.Errorf("read etcd's log: %w", err)
	}
	defer file.Close() //nolint:errcheck // It was only read.
	decoder, record, found := wal.NewDecoder(fileutil.NewFileReader(file)), &walpb.Record{}, &etcdserverpb.Metadata{}
	for {
		if err := decoder.Decode(record); err != nil {
			return nil, fmt.Errorf("read the metadata of etcd's log %s: %w", name, err)
		}
		switch record.Type {
		case wal.CrcType:
			decoder.UpdateCRC(record.Crc)
		case wal.MetadataType:
			if err := found.Unmarshal(record.Data); err != nil {
				return nil, fmt.Errorf("read etcd's log %s: %w", name, err)
			}
			return found, nil
		}
	}
}

// reform makes a member's data directory, which must not exist, from the database in another. All
// members that are made from the same data with the same list and token form one cluster, which is
// not the former one. Its revisions are ahead, and earlier ones count as compacted, so that clients
// that watched the former cluster have to read again and do not mistake old data for new:
// https://kubernetes.io/docs/tasks/administer-cluster/configure-upgrade-etcd/#restoring-an-etcd-cluster
func (o *Options) reform(from, to string) error {
	// Only what etcd's snapshot API returns has a hash.
	return o.restore(filepath.Join(from, memberFolder, "snap", "db"), to, true)
}

// restore makes a member's data directory, which must not exist, from a database.
func (o *Options) restore(database, to string, skipHash bool) error {
	members, err := types.NewURLsMap(o.InitialCluster)
	if err != nil {
		return fmt.Errorf("the list of members: %w", err)
	}
	err = snapshot.NewV3(o.Log).Restore(snapshot.RestoreConfig{
		SnapshotPath: database, SkipHashCheck: skipHash,
		Name: o.Name, OutputDataDir: to, PeerURLs: members[o.Name].StringSlice(),
		InitialCluster: o.InitialCluster, InitialClusterToken: o.Token,
		RevisionBump: revisionBump, MarkCompacted: true,
	})
	if err != nil {
		return fmt.Errorf("create etcd's member %s from %s: %w", o.Name, database, err)
	}
	return nil
}
