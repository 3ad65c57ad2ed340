package nodeup_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/nodeup"
)

// restored is a slot whose volume was made from a snapshot, and the program that the bucket has for
// that.
func restored(t *testing.T, program string) *machine {
	t.Helper()
	b := slot()
	b.Etcd.Restore = &bundle.EtcdRestore{
		Snapshot: "snap-0123456789abcdef0", Program: bundle.RestoreKey("snap-0123456789abcdef0", "amd64"), Name: "etcd-1",
		InitialCluster: "etcd-0=https://etcd-0.demo.internal:2380,etcd-1=https://etcd-1.demo.internal:2380",
		Token:          "demo-snap-0123456789abcdef0",
	}
	m := newMachine(t, b)
	m.account.objects[b.Etcd.Restore.Program] = []byte("#!/bin/sh\necho \"etcd-restore $*\" | sed \"s#$ROOT##g\" >> \"$CALLS\"\n" + program)
	return m
}

// TestMemberIsRestoredBeforeEtcdRuns runs the program that makes it on the mounted volume,
// before kubeadm has etcd started. What the program does is tried with package etcdrestore, and for
// real where clusters are restored.
func TestMemberIsRestoredBeforeEtcdRuns(t *testing.T) {
	m := restored(t, "")
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	const want = "mount " + device + ` /var/lib/etcd
etcd-restore --data-dir=/var/lib/etcd --snapshot=snap-0123456789abcdef0 --name=etcd-1 ` +
		"--initial-cluster=etcd-0=https://etcd-0.demo.internal:2380,etcd-1=https://etcd-1.demo.internal:2380 " +
		`--initial-cluster-token=demo-snap-0123456789abcdef0
kubeadm init phase certs all`
	if got := m.calls(t); !strings.Contains(got, want) {
		t.Errorf("the machine called\n%s", got)
	}
}

// TestRestoreIsRetriedUnlessThereIsNothingToRestore checks which errors are retried.
func TestRestoreIsRetriedUnlessThereIsNothingToRestore(t *testing.T) {
	m := restored(t, `test -f "$ROOT/tried" || { touch "$ROOT/tried"; exit 1; }`)
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	m = restored(t, "echo it holds no data of etcd >&2; exit 3")
	err := nodeup.Run(t.Context(), m.options)
	if _, ok := errors.AsType[*nodeup.PermanentError](err); !ok || !strings.Contains(err.Error(), "it holds no data of etcd") {
		t.Errorf("a snapshot without data ends it with %v", err)
	}
	if _, err := os.Stat(filepath.Join(m.root, "var/lib/nodeup/done")); err == nil {
		t.Error("the slot is done without a member")
	}
}

// TestMemberRestoredInPlaceIsNotRestoredAtBoot replaces the instance of a slot that was restored in
// place after its volume was created from a snapshot. With another snapshot's record, it is restored.
func TestMemberRestoredInPlaceIsNotRestoredAtBoot(t *testing.T) {
	for after, restores := range map[string]bool{"snap-0123456789abcdef0": false, "snap-1123456789abcdef0": true, "": true} {
		m := restored(t, "")
		m.holdData(t, 0)
		if err := os.WriteFile(filepath.Join(m.root, "/var/lib/etcd/restored-in-place"), []byte(after), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := nodeup.Run(t.Context(), m.options); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(m.calls(t), "etcd-restore "); got != restores {
			t.Errorf("restored in place after %q: the snapshot is restored: %v", after, got)
		}
	}
}
