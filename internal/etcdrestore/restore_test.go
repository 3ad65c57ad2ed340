package etcdrestore_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/aws-operator/aws-operator/internal/etcdrestore"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// member is a process of etcd.
type member struct {
	t      *testing.T
	name   string
	dir    string
	client string
	cmd    *exec.Cmd
}

// plan are the members of a cluster that is to start: their peers' URLs by name, as etcd's flag has
// it.
type plan struct {
	names []string
	peers map[string]string
}

func newPlan(t *testing.T, size int) plan {
	t.Helper()
	p := plan{peers: map[string]string{}}
	for i := range size {
		name := fmt.Sprintf("etcd-%d", i)
		p.names = append(p.names, name)
		p.peers[name] = "http://" + free(t)
	}
	return p
}

func (p plan) initialCluster() string {
	list := make([]string, len(p.names))
	for i, name := range p.names {
		list[i] = name + "=" + p.peers[name]
	}
	return strings.Join(list, ",")
}

// free returns an address without a listener.
func free(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// start starts a real etcd on a data directory, as kubeadm would.
func (p plan) start(t *testing.T, name, dir, token string) *member {
	t.Helper()
	kube, err := kubebuild.Ensure(t.Context(), kubebuild.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := &member{t: t, name: name, dir: dir, client: "http://" + free(t)}
	m.cmd = exec.CommandContext(
		t.Context(),
		kube,
		"etcd",
		"--name="+name,
		"--data-dir="+dir,
		"--initial-cluster="+p.initialCluster(),
		"--initial-cluster-state=new",
		"--initial-cluster-token="+token,
		"--listen-peer-urls="+p.peers[name],
		"--initial-advertise-peer-urls="+p.peers[name],
		"--listen-client-urls="+m.client,
		"--advertise-client-urls="+m.client,
		"--log-level=error",
	)
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.kill)
	return m
}

func (m *member) kill() {
	if m.cmd.ProcessState == nil {
		_ = m.cmd.Process.Kill()
		_ = m.cmd.Wait()
	}
}

// call asks etcd's gateway: https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/
func (m *member) call(ctx context.Context, path string, in any) (map[string]any, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.client+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	if err := json.Unmarshal(content, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", content, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s", content)
	}
	return out, nil
}

// await waits until etcd answers.
func (m *member) await(path string, in any) map[string]any {
	m.t.Helper()
	ctx := patience.Context(m.t)
	var last error
	for ctx.Err() == nil {
		out, err := m.call(ctx, path, in)
		if err == nil {
			return out
		}
		last = err
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	m.t.Fatalf("%s does not answer %s: %v", m.name, path, last)
	return nil
}

func coded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func (m *member) put(key, value string) {
	m.t.Helper()
	m.await("/v3/kv/put", map[string]any{"key": coded(key), "value": coded(value)})
}

// get reads a key through the quorum, "" if there is none.
func (m *member) get(key string) string {
	m.t.Helper()
	found, _ := m.await("/v3/kv/range", map[string]any{"key": coded(key)})["kvs"].([]any)
	if len(found) == 0 {
		return ""
	}
	value, _ := found[0].(map[string]any)["value"].(string)
	text, _ := base64.StdEncoding.DecodeString(value)
	return string(text)
}

func (m *member) header(path string) map[string]any {
	m.t.Helper()
	out := m.await(path, map[string]any{})
	header, _ := out["header"].(map[string]any)
	header["hash"] = out["hash"]
	return header
}

// options are how a member of a plan is made of a snapshot.
func (p plan) options(name, dir, snapshot string) etcdrestore.Options {
	return etcdrestore.Options{
		DataDir: dir, Snapshot: snapshot, Name: name, InitialCluster: p.initialCluster(), Token: "demo-" + snapshot, Log: zap.NewNop(),
	}
}

// copied returns a copy of a data directory, as a volume that was made from a snapshot has it.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(to, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestOneMembersDataMakesACluster takes the data of one of three members at one moment, while
// clients write, and makes three members from it, independently. They form a quorum and have
// exactly the data that was written before, byte for byte, and nothing that was written after; and
// their revisions are ahead of all revisions of the former cluster.
func TestOneMembersDataMakesACluster(t *testing.T) {
	before := newPlan(t, 3)
	var members []*member
	for _, name := range before.names {
		members = append(members, before.start(t, name, filepath.Join(t.TempDir(), "data"), "demo"))
	}
	for i := range 100 {
		members[i%3].put(fmt.Sprintf("many/%d", i), strings.Repeat("x", 100))
	}
	members[0].put("kept", "before the backup")
	// A read through the quorum shows that the member has it; how the others are does not matter.
	if got := members[1].get("kept"); got != "before the backup" {
		t.Fatalf("etcd lost a key before the restore: %q", got)
	}
	if err := members[1].cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	snapshot := copied(t, members[1].dir)
	if err := members[1].cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	members[0].put("later", "after the backup")
	was := members[0].header("/v3/maintenance/hash")
	for _, m := range members {
		m.kill()
	}

	after := newPlan(t, 3)
	var restored []*member
	for _, name := range after.names {
		dir := copied(t, snapshot)
		if made, err := etcdrestore.Run(t.Context(), after.options(name, dir, "snap-1")); err != nil || !made {
			t.Fatalf("%s is made: %v, %v", name, made, err)
		}
		restored = append(restored, after.start(t, name, dir, "demo-snap-1"))
	}
	hashes := map[any]bool{}
	for _, m := range restored {
		if got := m.get("kept"); got != "before the backup" {
			t.Errorf("%s has %q", m.name, got)
		}
		if got := m.get("later"); got != "" {
			t.Errorf("%s has what was written after the backup: %q", m.name, got)
		}
		hash := m.header("/v3/maintenance/hash")
		hashes[m.await("/v3/maintenance/hashkv", map[string]any{})["hash"]] = true
		if hash["cluster_id"] == was["cluster_id"] {
			t.Errorf("%s still has the ID of the previous cluster", m.name)
		}
		if revision, _ := hash["revision"].(string); len(revision) < len("1000000000") {
			t.Errorf("the revision is %s, and %s was seen", revision, was["revision"])
		}
	}
	if len(hashes) != 1 {
		t.Errorf("the members differ: %v", hashes)
	}
	_, err := restored[0].call(t.Context(), "/v3/kv/range", map[string]any{"key": coded("kept"), "revision": was["revision"]})
	if err == nil || !strings.Contains(err.Error(), "compacted") {
		t.Errorf("a read at a revision of the previous cluster returned %v, not that it is compacted", err)
	}
	restored[0].put("new", "written")
	restored[2].kill()
	restored[0].put("new", "written by two of three")
}

// TestNothingPromisedIsLost kills the only member right after it promised to keep a key, which its
// log alone has by then.
func TestNothingPromisedIsLost(t *testing.T) {
	before := newPlan(t, 1)
	only := before.start(t, "etcd-0", filepath.Join(t.TempDir(), "data"), "demo")
	only.put("first", "1")
	for i := range 20 {
		only.put("last", fmt.Sprint(i))
	}
	only.kill()
	after := newPlan(t, 1)
	if _, err := etcdrestore.Run(t.Context(), after.options("etcd-0", only.dir, "snap-1")); err != nil {
		t.Fatal(err)
	}
	again := after.start(t, "etcd-0", only.dir, "demo-snap-1")
	if got := again.get("last"); got != "19" {
		t.Errorf("the last write was 19, and it is %q now", got)
	}
}

// TestRestoreIsResumed makes a member after being killed at each of its stages, leaves alone what
// is made, and makes another of the next snapshot.
func TestRestoreIsResumed(t *testing.T) {
	before := newPlan(t, 1)
	only := before.start(t, "etcd-0", filepath.Join(t.TempDir(), "data"), "demo")
	only.put("kept", "yes")
	only.kill()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	stages := map[string]func(dir string){
		"before it began": func(string) {},
		"after the snapshot's data was set aside": func(dir string) {
			must(os.Mkdir(filepath.Join(dir, "from-snap-1"), 0o700))
			must(os.Rename(filepath.Join(dir, "member"), filepath.Join(dir, "from-snap-1", "member")))
		},
		"with half a member": func(dir string) {
			must(os.Mkdir(filepath.Join(dir, "from-snap-1"), 0o700))
			must(os.Rename(filepath.Join(dir, "member"), filepath.Join(dir, "from-snap-1", "member")))
			must(os.MkdirAll(filepath.Join(dir, "half-made", "member", "snap"), 0o700))
			must(os.WriteFile(filepath.Join(dir, "half-made", "member", "snap", "db"), []byte("half"), 0o600))
		},
		"before it tidied up": func(dir string) {
			saved := copied(t, dir)
			p := newPlan(t, 1)
			_, err := etcdrestore.Run(t.Context(), p.options("etcd-0", dir, "snap-0"))
			must(err)
			must(os.Rename(saved, filepath.Join(dir, "from-snap-0")))
		},
	}
	for name, stage := range stages {
		t.Run(name, func(t *testing.T) {
			dir, p := copied(t, only.dir), newPlan(t, 1)
			stage(dir)
			options := p.options("etcd-0", dir, "snap-1")
			made, err := etcdrestore.Run(t.Context(), options)
			if err != nil || !made {
				t.Fatalf("made: %v, %v", made, err)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 1 {
				t.Errorf("what is left is %v, %v", left, err)
			}
			running := p.start(t, "etcd-0", dir, options.Token)
			if running.get("kept") != "yes" {
				t.Error("the key is lost")
			}
			running.put("new", "yes")
			running.kill()
			if made, err := etcdrestore.Run(t.Context(), options); err != nil || made {
				t.Errorf("a member that is made is made again: %v, %v", made, err)
			}
			if running = p.start(t, "etcd-0", dir, options.Token); running.get("new") != "yes" {
				t.Error("what was written since is lost")
			}
		})
	}
	if _, err := etcdrestore.Run(t.Context(), newPlan(t, 1).options("etcd-0", t.TempDir(), "snap-1")); !errors.Is(
		err, etcdrestore.ErrNoData,
	) {
		t.Errorf("of a snapshot without data it says %v", err)
	}
}
