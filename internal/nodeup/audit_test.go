package nodeup_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"k8s.io/utils/clock"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/nodeup"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/fault"
)

// hurried is a clock on which a wait takes a millisecond, and more time passes than it asks for.
type hurried struct {
	clock.RealClock

	mu     sync.Mutex
	passed time.Duration
}

func (h *hurried) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.RealClock.Now().Add(h.passed)
}

func (h *hurried) Since(at time.Time) time.Duration { return h.Now().Sub(at) }

func (h *hurried) After(d time.Duration) <-chan time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.passed += 20 * d
	return time.After(time.Millisecond)
}

// nodeAPI is a cluster's API that keeps the condition of the slot's Node.
type nodeAPI struct {
	mu        sync.Mutex
	condition map[string]string
}

func (a *nodeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var patch struct {
		Status struct {
			Conditions []map[string]string `json:"conditions"`
		} `json:"status"`
	}
	err := json.NewDecoder(r.Body).Decode(&patch)
	if r.Method != http.MethodPatch || r.URL.Path != "/api/v1/nodes/"+ownName+"/status" || err != nil ||
		r.Header.Get("Content-Type") != "application/strategic-merge-patch+json" || len(patch.Status.Conditions) != 1 {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	a.condition = patch.Status.Conditions[0]
}

func (a *nodeAPI) says() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.condition["type"] + " " + a.condition["status"] + " " + a.condition["reason"] + " " + a.condition["message"]
}

// auditor is a slot that ships its audit log to the simulator's S3.
type auditor struct {
	*machine

	t   *testing.T
	to  *store
	api *nodeAPI
}

func newAuditor(t *testing.T) *auditor {
	t.Helper()
	a := &auditor{t: t, to: newStore(t), api: &nodeAPI{}}
	b := slot()
	b.Audit = &bundle.AuditShipping{
		Folder: "/var/log/kubernetes/audit", File: "audit.log", Bucket: backupBucket, Prefix: "audit/", EverySeconds: 60,
	}
	a.machine = newMachine(t, b)
	a.options.Bucket, a.options.AWS.Objects = backupBucket, a.to.client
	a.options.Clock = &hurried{}
	a.to.put(bundle.Key(b.Hash()), b.JSON())
	server := httptest.NewTLSServer(a.api)
	t.Cleanup(server.Close)
	a.file("/etc/kubernetes/admin.conf", string(adminConf(t, server)))
	return a
}

func (a *auditor) file(name, content string) {
	a.t.Helper()
	path := filepath.Join(a.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// write appends to the log.
func (a *auditor) write(text string) {
	a.t.Helper()
	path := filepath.Join(a.root, "/var/log/kubernetes/audit/audit.log")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		a.t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.WriteString(text)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// run ships until the function returns.
func (a *auditor) run(until func(await func(what string, done func() bool))) {
	a.t.Helper()
	ctx, cancel := context.WithCancel(patience.Context(a.t))
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- nodeup.ShipAuditLog(ctx, a.options) }()
	until(func(what string, done func() bool) {
		a.t.Helper()
		for !done() {
			select {
			case err := <-ended:
				a.t.Fatalf("%s: it ended: %v\n%s", what, err, a.log)
			case <-time.After(time.Millisecond):
			}
		}
	})
	cancel()
	if err := <-ended; err != nil {
		a.t.Fatal(err)
	}
}

// shipped returns the log in the bucket.
func (a *auditor) shipped() string {
	a.t.Helper()
	found, err := a.to.client.ListObjectsV2(a.t.Context(), &s3.ListObjectsV2Input{
		Bucket: aws.String(backupBucket), Prefix: aws.String("audit/demo/slot1/"),
	})
	if err != nil {
		a.t.Fatal(err)
	}
	var all strings.Builder
	for _, object := range found.Contents {
		reader, err := gzip.NewReader(bytes.NewReader(a.to.get(*object.Key)))
		if err == nil {
			_, err = io.Copy(&all, reader)
		}
		if err != nil {
			a.t.Fatal(err)
		}
	}
	return all.String()
}

// The slot ships what is written, says in a condition of its Node whether it can, and catches up.
func TestSlotShipsItsAuditLog(t *testing.T) {
	a := newAuditor(t)
	a.run(func(await func(string, func() bool)) {
		a.write("1\n")
		await("the first line", func() bool { return a.shipped() == "1\n" })
		await("the condition", func() bool {
			return a.api.says() == "AuditLogShipped True Shipped The audit log is shipped to the bucket "+backupBucket+"."
		})
		repair := a.to.faults.Add(fault.Rule{Service: "s3", Operation: "PutObject", Deny: true})
		a.write("2\n")
		await("the refusal", func() bool {
			says := a.api.says()
			return strings.HasPrefix(says, "AuditLogShipped False ShippingFailed The audit log is not shipped, and 2 bytes wait: ") &&
				strings.Contains(says, "AccessDenied") && strings.Contains(says, "needs s3:PutObject for audit/*")
		})
		repair()
		await("the second line", func() bool { return a.shipped() == "1\n2\n" })
		await("the condition", func() bool { return strings.HasPrefix(a.api.says(), "AuditLogShipped True") })
	})
}

// still is a clock on which no wait ends.
type still struct{ clock.RealClock }

func (still) After(time.Duration) <-chan time.Time { return nil }

func TestSlotShipsTheRestWhenItIsStopped(t *testing.T) {
	a := newAuditor(t)
	a.options.Clock = still{}
	a.write("1\n")
	a.run(func(await func(string, func() bool)) {
		await("the condition", func() bool { return strings.HasPrefix(a.api.says(), "AuditLogShipped True") })
		a.write("2\n")
	})
	if got := a.shipped(); got != "1\n2\n" {
		t.Errorf("it shipped %q\n%s", got, a.log)
	}
}

// The unit runs only where the cluster ships its audit log, and is there before the API server is.
func TestUnitOfTheAuditLog(t *testing.T) {
	for _, enabled := range []bool{false, true} {
		b := slot()
		if enabled {
			b.Audit = &bundle.AuditShipping{Bucket: "logs"}
		}
		m := newMachine(t, b)
		if err := nodeup.Run(patience.Context(t), m.options); err != nil {
			t.Fatal(err)
		}
		calls := m.calls(t)
		started := strings.Index(calls, "systemctl enable --now nodeup-audit.service")
		if enabled != (started >= 0) || enabled && started > strings.Index(calls, "kubeadm init phase control-plane") {
			t.Errorf("enabled is %v, and the calls are\n%s", enabled, calls)
		}
		if enabled && !strings.Contains(m.read(t, "/etc/systemd/system/nodeup-audit.service"), "--bundle "+b.Hash()+" --ship-audit-log\n") {
			t.Error("the unit does not run --ship-audit-log with the bundle")
		}
	}
}

func TestSlotReportsLostLines(t *testing.T) {
	a := newAuditor(t)
	a.write("1\n")
	a.run(func(await func(string, func() bool)) {
		await("the first line", func() bool { return a.shipped() == "1\n" })
	})
	if err := os.Remove(filepath.Join(a.root, "/var/log/kubernetes/audit/audit.log")); err != nil {
		t.Fatal(err)
	}
	a.write("3\n")
	a.run(func(await func(string, func() bool)) {
		await("the condition", func() bool {
			return strings.HasPrefix(a.api.says(), "AuditLogShipped False LinesLost Lines of the audit log were lost: audit.log had at least 2 bytes")
		})
		await("the end of that", func() bool { return strings.HasPrefix(a.api.says(), "AuditLogShipped True") }) // after a day
	})
	if !strings.Contains(a.log.String(), "lines are lost: audit.log had at least 2 bytes") {
		t.Errorf("the log does not say so:\n%s", a.log)
	}
}

func TestSlotWithoutTheFieldShipsNothing(t *testing.T) {
	a := newAuditor(t)
	b := slot()
	a.to.put(bundle.Key(b.Hash()), b.JSON())
	a.options.BundleSHA256 = b.Hash()
	err := nodeup.ShipAuditLog(t.Context(), a.options)
	if _, permanent := errors.AsType[*nodeup.PermanentError](err); !permanent {
		t.Errorf("it ends with %v", err)
	}
}
