package nodeup_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/nodeup"
)

const (
	backupKey    = "backups/etcd/20261128T060000Z-slot2.db"
	restoreToken = "20261128T070000Z"
)

// stopped is a slot whose kubelet runs static pods, and whose etcd stops when its manifest is moved.
func stopped(t *testing.T, to *store, program string) (*saver, nodeup.Restoration) {
	t.Helper()
	s := newSaver(t, to, 0, nil)
	for _, name := range []string{"etcd.yaml", "kube-apiserver.yaml"} {
		s.manifest(t, name)
	}
	s.options.Clock = impatient{}
	s.options.Dial = func(context.Context, string, string) (net.Conn, error) {
		if _, err := os.Stat(filepath.Join(s.root, "/etc/kubernetes/manifests/etcd.yaml")); err != nil {
			return nil, fmt.Errorf("connection refused")
		}
		ours, theirs := net.Pipe()
		_ = theirs.Close()
		return ours, nil
	}
	script := []byte("#!/bin/sh\necho \"etcd-restore $*\" | sed \"s#$ROOT##g\" >> \"$CALLS\"\nls $ROOT/etc/kubernetes/manifests >> \"$CALLS\"\n" + program)
	to.put(bundle.RestoreKey(restoreToken, "amd64"), script)
	var whole bytes.Buffer
	sent := &snapshots{database: bytes.Repeat([]byte("etcd"), 128)}
	whole.Write(sent.database)
	whole.Write(sumOf(sent.database))
	to.put(backupKey, whole.Bytes())
	return s, nodeup.Restoration{Key: backupKey, ProgramSHA256: bundle.HashOf(script), Token: restoreToken}
}

func (s *saver) manifest(t *testing.T, name string) {
	t.Helper()
	folder := filepath.Join(s.root, "/etc/kubernetes/manifests")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), []byte("kind: Pod\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// runs reports whether the kubelet has all manifests.
func (s *saver) runs() bool {
	found, err := filepath.Glob(filepath.Join(s.root, "/etc/kubernetes/manifests/*.yaml"))
	return err == nil && len(found) == 2
}

func TestBackupIsRestoredWhileTheControlPlaneIsStopped(t *testing.T) {
	s, from := stopped(t, newStore(t), `test -s "$ROOT/var/lib/nodeup/restore/etcd.db"`)
	if err := nodeup.RestoreBackup(t.Context(), s.options, from); err != nil {
		t.Fatal(err)
	}
	// No manifests are listed after the call.
	const want = "etcd-restore --data-dir=/var/lib/etcd --file=/var/lib/nodeup/restore/etcd.db --name=etcd-0 --initial-cluster=" +
		"etcd-0=https://etcd-0.demo.internal:2380,etcd-1=https://etcd-1.demo.internal:2380,etcd-2=https://etcd-2.demo.internal:2380 " +
		"--initial-cluster-token=demo-20261128T070000Z\n"
	if got := s.calls(t); got != want {
		t.Errorf("the slot called\n%s, want\n%s", got, want)
	}
	if !s.runs() {
		t.Error("the control plane was not started again")
	}
	if _, err := os.Stat(filepath.Join(s.root, "/var/lib/nodeup/restore/etcd.db")); !os.IsNotExist(err) {
		t.Errorf("the backup is left: %v", err)
	}
}

// A slot whose volume was created from a snapshot tells the program, which records it.
func TestRestoreInPlaceNamesTheSnapshotOfTheVolume(t *testing.T) {
	to := newStore(t)
	s, from := stopped(t, to, "")
	b := slot()
	b.Etcd.Restore = &bundle.EtcdRestore{Snapshot: "snap-0123456789abcdef0"}
	to.put(bundle.Key(b.Hash()), b.JSON())
	s.options.BundleSHA256 = b.Hash()
	if err := nodeup.RestoreBackup(t.Context(), s.options, from); err != nil {
		t.Fatal(err)
	}
	if got := s.calls(t); !strings.HasSuffix(strings.TrimSpace(got), "--snapshot=snap-0123456789abcdef0") {
		t.Errorf("the slot called\n%s", got)
	}
}

// Nothing is stopped before all that is needed is there.
func TestRestoreOfABadBackupChangesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*saver, *store, *nodeup.Restoration)
		want   string
	}{
		"no backup's key": {func(_ *saver, _ *store, r *nodeup.Restoration) { r.Key = "pki/ca.key" }, `"pki/ca.key" is not the key of a backup`},
		"no such backup": {func(_ *saver, _ *store, r *nodeup.Restoration) {
			r.Key = "backups/etcd/20200101T000000Z-slot0.db"
		}, "download backups/etcd/20200101T000000Z-slot0.db"},
		"a damaged backup": {func(_ *saver, to *store, _ *nodeup.Restoration) {
			to.put(backupKey, bytes.Repeat([]byte("x"), 512+32))
		}, "is damaged, restore another one: it does not have the hash"},
		"another program": {func(_ *saver, to *store, _ *nodeup.Restoration) {
			to.put(bundle.RestoreKey(restoreToken, "amd64"), []byte("#!/bin/sh\n"))
		}, "has the SHA-256"},
		"no program":    {func(_ *saver, _ *store, r *nodeup.Restoration) { r.Token = "20261128T080000Z" }, "etcd-restore-linux-amd64"},
		"a bad token":   {func(_ *saver, _ *store, r *nodeup.Restoration) { r.Token = "../x" }, "--restore-token are needed"},
		"without flags": {func(_ *saver, _ *store, r *nodeup.Restoration) { r.ProgramSHA256 = "" }, "aws-operator backups restore prints"},
		"a full disk": {func(s *saver, _ *store, _ *nodeup.Restoration) {
			s.options.Space = func(string) (uint64, uint64, error) { return 1 << 30, 30 << 30, nil }
		}, "1024 MiB free"},
	} {
		t.Run(name, func(t *testing.T) {
			to := newStore(t)
			s, from := stopped(t, to, "")
			test.change(s, to, &from)
			err := nodeup.RestoreBackup(t.Context(), s.options, from)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if !s.runs() || s.calls(t) != "" {
				t.Errorf("the control plane runs: %v, calls: %s", s.runs(), s.calls(t))
			}
		})
	}
}

// A restore that fails leaves the control plane stopped: etcd must not start on half of the data.
// The same command continues.
func TestRestoreIsContinued(t *testing.T) {
	s, from := stopped(t, newStore(t), `test -f "$ROOT/tried" || { touch "$ROOT/tried"; echo 'no space left' >&2; exit 1; }`)
	err := nodeup.RestoreBackup(t.Context(), s.options, from)
	if err == nil || !strings.Contains(err.Error(), "stays stopped; run the command again") || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("got %v", err)
	}
	if s.runs() {
		t.Error("the control plane was started on half of the data")
	}
	if err := nodeup.RestoreBackup(t.Context(), s.options, from); err != nil || !s.runs() {
		t.Errorf("the second run: %v, the control plane runs: %v", err, s.runs())
	}
}

// Without a kubelet, static pods do not stop. They are left as they were.
func TestRestoreGivesUpOnEtcdThatDoesNotStop(t *testing.T) {
	s, from := stopped(t, newStore(t), "")
	s.options.Clock = &hasty{FakeClock: s.clock}
	s.options.Dial = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		_ = theirs.Close()
		return ours, nil
	}
	err := nodeup.RestoreBackup(t.Context(), s.options, from)
	if err == nil || !strings.Contains(err.Error(), "etcd still listens after five minutes") || !s.runs() || s.calls(t) != "" {
		t.Errorf("got %v, the control plane runs: %v, calls: %s", err, s.runs(), s.calls(t))
	}
}
