package nodeup_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/aws-operator/aws-operator/internal/etcdbackup"
	"github.com/aws-operator/aws-operator/internal/etcdrestore"
	"github.com/aws-operator/aws-operator/internal/local/kubebuild"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// realEtcd is a process of etcd that serves clients with certificates, as on a slot.
type realEtcd struct {
	t       *testing.T
	address string
	client  *http.Client
}

// freeAddress returns an address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// startEtcd starts etcd on a data directory with the certificates of a slot, and with further arguments.
func (s *saver) startEtcd(t *testing.T, dir string, arguments ...string) *realEtcd {
	t.Helper()
	kube, err := kubebuild.Ensure(t.Context(), kubebuild.Options{})
	if err != nil {
		t.Fatal(err)
	}
	config := s.trustEtcd(t)
	pki := filepath.Join(s.root, "/etc/kubernetes/pki/etcd")
	// The member is known by the name of its slot, and has no others.
	const peer = "https://etcd-0.demo.internal:2380"
	address := freeAddress(t)
	cmd := exec.CommandContext(t.Context(), kube, append([]string{
		"etcd", "--name=etcd-0", "--data-dir=" + dir,
		"--initial-cluster=etcd-0=" + peer, "--listen-peer-urls=http://" + freeAddress(t), "--initial-advertise-peer-urls=" + peer,
		"--listen-client-urls=https://" + address, "--advertise-client-urls=https://" + address, "--client-cert-auth",
		"--trusted-ca-file=" + pki + "/ca.crt", "--cert-file=" + pki + "/healthcheck-client.crt", "--key-file=" + pki + "/healthcheck-client.key",
		"--log-level=error",
	}, arguments...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(output.String())
		}
	})
	s.dial(address)
	ca, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(ca)
	root, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	config.RootCAs, config.ServerName = x509.NewCertPool(), "etcd-0.demo.internal"
	config.RootCAs.AddCert(root)
	return &realEtcd{t: t, address: address, client: &http.Client{Transport: &http.Transport{TLSClientConfig: config}}}
}

// call asks etcd's gateway: https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/
func (e *realEtcd) call(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+e.address+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := e.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, content)
	}
	return json.Unmarshal(content, out)
}

// write writes a key once.
func (e *realEtcd) write(ctx context.Context, key, value string) error {
	encode := base64.StdEncoding.EncodeToString
	var out struct{}
	return e.call(ctx, "/v3/kv/put", map[string]any{"key": encode([]byte(key)), "value": encode([]byte(value))}, &out)
}

// await repeats a call until etcd answers.
func (e *realEtcd) await(call func(context.Context) error) {
	e.t.Helper()
	ctx := patience.Context(e.t)
	for {
		err := call(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			e.t.Fatalf("etcd does not answer: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// put writes a key.
func (e *realEtcd) put(key, value string) {
	e.t.Helper()
	e.await(func(ctx context.Context) error { return e.write(ctx, key, value) })
}

// all returns all keys and values.
func (e *realEtcd) all() map[string]string {
	e.t.Helper()
	var out struct {
		KVs []struct{ Key, Value []byte }
	}
	e.await(func(ctx context.Context) error {
		return e.call(ctx, "/v3/kv/range", map[string]any{"key": "AA==", "range_end": "AA=="}, &out)
	})
	found := map[string]string{}
	for _, one := range out.KVs {
		found[string(one.Key)] = string(one.Value)
	}
	return found
}

// TestBackupOfRealEtcdIsRestored backs up a real etcd to the simulator's S3 while a client writes.
// The backup is verified, restored and compared: it has all that was written before it, and of what
// was written meanwhile a beginning. A damaged copy is refused.
func TestBackupOfRealEtcdIsRestored(t *testing.T) {
	to := newStore(t)
	s := newSaver(t, to, 0, nil)
	before := s.startEtcd(t, filepath.Join(t.TempDir(), "data"))
	for i := range 200 {
		before.put(fmt.Sprintf("before/%d", i), strings.Repeat("x", 1000))
	}
	var stop atomic.Bool
	written := make(chan int)
	go func() {
		n := 0
		for !stop.Load() && before.write(t.Context(), fmt.Sprintf("meanwhile/%06d", n), fmt.Sprint(n)) == nil {
			n++
		}
		written <- n
	}()
	s.run(t)
	stop.Store(true)
	total := <-written
	before.put("later", "after the backup")

	keys := to.keys()
	if len(keys) != 1 {
		t.Fatalf("the bucket has %v\n%s", keys, s.log)
	}
	content := to.get(etcdbackup.Prefix + keys[0])
	file := filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	scratch := filepath.Join(t.TempDir(), "scratch")
	report, err := etcdrestore.Verify(t.Context(), file, scratch, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if report.Keys < 200 || report.Keys > int64(200+total) || report.Revision != report.Keys+1 || report.Bytes != int64(len(content)) {
		t.Errorf("the report is %+v, of 200 keys and %d that were written meanwhile", report, total)
	}
	compareRestored(t, s.startEtcd(t, scratch).all(), int(report.Keys))

	for name, damage := range map[string]func([]byte) []byte{
		"a bit is flipped": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"it is cut":        func(b []byte) []byte { return b[:len(b)/1024*512] },
		"it is empty":      func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(file, damage(bytes.Clone(content)), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := etcdrestore.Verify(t.Context(), file, filepath.Join(t.TempDir(), "scratch"), zap.NewNop()); !errors.Is(
				err, etcdrestore.ErrDamaged,
			) {
				t.Errorf("it is not refused as damaged: %v", err)
			}
		})
	}
}

// compareRestored checks that a restored etcd has that many keys: all that were written before the
// backup, and the first of those that were written meanwhile.
func compareRestored(t *testing.T, got map[string]string, want int) {
	t.Helper()
	if len(got) != want {
		t.Errorf("%d keys are restored, and the report says %d", len(got), want)
	}
	if got["later"] != "" {
		t.Error("the backup has what was written after it")
	}
	for i := range 200 {
		if got[fmt.Sprintf("before/%d", i)] != strings.Repeat("x", 1000) {
			t.Errorf("before/%d is lost", i)
		}
	}
	for i := range len(got) - 200 {
		if got[fmt.Sprintf("meanwhile/%06d", i)] != fmt.Sprint(i) {
			t.Errorf("meanwhile/%06d is lost, and later ones are not", i)
		}
	}
}
