package etcdrestore_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/aws-operator/aws-operator/internal/etcdrestore"
)

// save writes a snapshot of a member to a file.
func (m *member) save(file string) {
	m.t.Helper()
	request, err := http.NewRequestWithContext(m.t.Context(), http.MethodPost, m.client+"/v3/maintenance/snapshot", strings.NewReader("{}"))
	if err != nil {
		m.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var whole bytes.Buffer
	for decoder := json.NewDecoder(response.Body); decoder.More(); {
		var part struct{ Result struct{ Blob []byte } }
		if err := decoder.Decode(&part); err != nil {
			m.t.Fatal(err)
		}
		whole.Write(part.Result.Blob)
	}
	if err := os.WriteFile(file, whole.Bytes(), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// ofFile are the options of a member that is made from a file.
func (p plan) ofFile(name, dir, token string) etcdrestore.Options {
	return etcdrestore.Options{DataDir: dir, Name: name, InitialCluster: p.initialCluster(), Token: token, Log: zap.NewNop()}
}

// TestFileMakesAClusterInPlace restores three members in the data directories that they had, from a
// snapshot of one of them. They form a quorum, have what was written before and nothing of what was
// written after, and can be restored once more.
func TestFileMakesAClusterInPlace(t *testing.T) {
	p := newPlan(t, 3)
	dirs := map[string]string{}
	var members []*member
	for _, name := range p.names {
		dirs[name] = filepath.Join(t.TempDir(), "data")
		members = append(members, p.start(t, name, dirs[name], "demo"))
	}
	for i := range 100 {
		members[i%3].put(fmt.Sprintf("many/%d", i), strings.Repeat("x", 100))
	}
	members[0].put("kept", "before the backup")
	if got := members[1].get("kept"); got != "before the backup" {
		t.Fatalf("etcd lost a key before the restore: %q", got)
	}
	file := filepath.Join(t.TempDir(), "snapshot.db")
	members[1].save(file)
	members[0].put("later", "after the backup")
	was := members[0].header("/v3/maintenance/hash")
	for _, token := range []string{"demo-1", "demo-2"} {
		for _, m := range members {
			m.kill()
		}
		members = nil
		for _, name := range p.names {
			if made, err := etcdrestore.RunFile(p.ofFile(name, dirs[name], token), file); err != nil || !made {
				t.Fatalf("%s is made: %v, %v", name, made, err)
			}
			if made, err := etcdrestore.RunFile(p.ofFile(name, dirs[name], token), file); err != nil || made {
				t.Errorf("%s, which is made, is made again: %v, %v", name, made, err)
			}
			members = append(members, p.start(t, name, dirs[name], "demo")) // A member with data ignores the token.
		}
		hashes := map[any]bool{}
		for _, m := range members {
			if kept, later := m.get("kept"), m.get("later"); kept != "before the backup" || later != "" {
				t.Errorf("%s has %q and %q", m.name, kept, later)
			}
			now := m.header("/v3/maintenance/hash")
			hashes[m.await("/v3/maintenance/hashkv", map[string]any{})["hash"]] = true
			if now["cluster_id"] == was["cluster_id"] {
				t.Errorf("%s still has the ID of the previous cluster", m.name)
			}
			if revision, _ := now["revision"].(string); len(revision) < len("1000000000") {
				t.Errorf("the revision is %s, and %s was seen", revision, was["revision"])
			}
		}
		if len(hashes) != 1 {
			t.Errorf("the members differ: %v", hashes)
		}
		members[2].put("new", token)
		if got := members[0].get("new"); got != token {
			t.Errorf("what was written after the restore is %q", got)
		}
	}
	for _, dir := range dirs {
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 3 || left[0].Name() != "member" || left[1].Name() != "member.before-restore" {
			t.Errorf("what is left is %v, %v", left, err)
		}
	}
}

// TestRestoreOfAFileIsResumed restores after being killed at each of its stages, and changes nothing
// for a damaged file.
func TestRestoreOfAFileIsResumed(t *testing.T) {
	p := newPlan(t, 1)
	only := p.start(t, "etcd-0", filepath.Join(t.TempDir(), "data"), "demo")
	only.put("kept", "yes")
	file := filepath.Join(t.TempDir(), "snapshot.db")
	only.save(file)
	only.put("kept", "no")
	only.kill()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, stage := range map[string]func(dir string){
		"before it began": func(string) {},
		"with half a member": func(dir string) {
			must(os.MkdirAll(filepath.Join(dir, "half-made", "member", "snap"), 0o700))
			must(os.WriteFile(filepath.Join(dir, "half-made", "member", "snap", "db"), []byte("half"), 0o600))
		},
		"after the former member was moved": func(dir string) {
			must(os.Mkdir(filepath.Join(dir, "half-made"), 0o700))
			must(os.Rename(filepath.Join(dir, "member"), filepath.Join(dir, "member.before-restore")))
		},
		"on a volume without data": func(dir string) { must(os.RemoveAll(filepath.Join(dir, "member"))) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, p := copied(t, only.dir), newPlan(t, 1)
			stage(dir)
			if made, err := etcdrestore.RunFile(p.ofFile("etcd-0", dir, "demo-1"), file); err != nil || !made {
				t.Fatalf("made: %v, %v", made, err)
			}
			if got := p.start(t, "etcd-0", dir, "demo").get("kept"); got != "yes" {
				t.Errorf("the key is %q", got)
			}
		})
	}
	whole, err := os.ReadFile(file)
	must(err)
	whole[len(whole)/2] ^= 1
	must(os.WriteFile(file, whole, 0o600))
	dir := copied(t, only.dir)
	if _, err := etcdrestore.RunFile(p.ofFile("etcd-0", dir, "demo-1"), file); !errors.Is(err, etcdrestore.ErrDamaged) {
		t.Errorf("a damaged file ends it with %v", err)
	}
	if got := p.start(t, "etcd-0", dir, "demo").get("kept"); got != "no" {
		t.Errorf("after a damaged file, the key is %q", got)
	}
}

// TestMemberRestoredInPlaceIsNotMadeOfTheSnapshotAgain replaces the instance of a slot whose volume
// was created from an EBS snapshot, and which was restored from a file since. nodeup then asks for
// the snapshot's member again. With a later snapshot of that volume, it is made.
func TestMemberRestoredInPlaceIsNotMadeOfTheSnapshotAgain(t *testing.T) {
	p := newPlan(t, 1)
	only := p.start(t, "etcd-0", filepath.Join(t.TempDir(), "data"), "demo")
	only.put("kept", "of the snapshot")
	only.kill()
	dir := only.dir
	if made, err := etcdrestore.Run(t.Context(), p.options("etcd-0", dir, "snap-1")); err != nil || !made {
		t.Fatalf("made: %v, %v", made, err)
	}
	restored := p.start(t, "etcd-0", dir, "demo-snap-1")
	restored.put("kept", "of the file")
	file := filepath.Join(t.TempDir(), "snapshot.db")
	restored.save(file)
	restored.put("kept", "after the file")
	restored.kill()
	in := p.ofFile("etcd-0", dir, "demo-file")
	in.Snapshot = "snap-1"
	if made, err := etcdrestore.RunFile(in, file); err != nil || !made {
		t.Fatalf("made: %v, %v", made, err)
	}
	for _, snapshot := range []string{"snap-1", "snap-2"} {
		of := copied(t, dir)
		made, err := etcdrestore.Run(t.Context(), p.options("etcd-0", of, snapshot))
		if err != nil || made != (snapshot == "snap-2") {
			t.Errorf("of %s: made: %v, %v", snapshot, made, err)
		}
		running := p.start(t, "etcd-0", of, "demo-"+snapshot)
		if got := running.get("kept"); got != "of the file" {
			t.Errorf("of %s: the key is %q", snapshot, got)
		}
		running.kill()
		if _, err := os.Stat(filepath.Join(of, "restored-in-place")); os.IsNotExist(err) != made {
			t.Errorf("of %s: the record: %v", snapshot, err)
		}
	}
}
