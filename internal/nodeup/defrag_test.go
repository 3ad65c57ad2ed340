package nodeup_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/nodeup"
	"github.com/aws-operator/aws-operator/internal/patience"
)

const mib = 1 << 20

// space is the space of a member in MiB.
type space struct{ size, inUse int64 }

// spaceEtcd is the gateway of three members, of which some use less space than they have.
type spaceEtcd struct {
	mu      sync.Mutex
	members []member
	leader  string
	quota   int64
	spaces  map[string]space // by slot
	full    []string         // IDs
	down    string           // the slot that does not answer
	calls   []string
	reads   int
}

func (e *spaceEtcd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Action, MemberID, TargetID string
		Revision                   int64
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	host, _, _ := net.SplitHostPort(r.Host)
	slot := strings.TrimSuffix(strings.TrimPrefix(host, "etcd-"), ".demo.internal")
	e.mu.Lock()
	defer e.mu.Unlock()
	call := func(format string, args ...any) {
		e.calls = append(e.calls, fmt.Sprintf(format, args...))
		_, _ = w.Write([]byte(`{}`))
	}
	i := slices.IndexFunc(e.members, func(m member) bool { return strings.Contains(m.PeerURLs[0], host) })
	switch {
	case slot == e.down || i < 0:
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.URL.Path == "/v3/cluster/member/list":
		e.reads++
		_ = json.NewEncoder(w).Encode(map[string]any{"members": e.members})
	case r.URL.Path == "/v3/maintenance/status":
		text := func(n int64) string { return strconv.FormatInt(n*mib, 10) }
		_ = json.NewEncoder(w).Encode(map[string]any{
			"header": map[string]any{"member_id": e.members[i].ID, "revision": "1000"}, "leader": e.leader, "isLearner": e.members[i].IsLearner,
			"dbSize": text(e.spaces[slot].size), "dbSizeInUse": text(e.spaces[slot].inUse), "dbSizeQuota": text(e.quota),
		})
	case r.URL.Path == "/v3/maintenance/alarm" && in.Action == "GET":
		alarms := []any{}
		for _, id := range e.full {
			alarms = append(alarms, map[string]any{"memberID": id, "alarm": "NOSPACE"})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"alarms": alarms})
	case r.URL.Path == "/v3/maintenance/alarm" && in.Action == "DEACTIVATE":
		e.full = slices.DeleteFunc(e.full, func(id string) bool { return id == in.MemberID })
		call("disarm %s", in.MemberID)
	case r.URL.Path == "/v3/maintenance/snapshot":
	case r.URL.Path == "/v3/kv/compaction":
		for slot, of := range e.spaces {
			e.spaces[slot] = space{of.size, min(of.inUse, of.size/2)}
		}
		call("compact %d", in.Revision)
	case r.URL.Path == "/v3/maintenance/transfer-leadership":
		e.leader = in.TargetID
		call("transfer to %s", in.TargetID)
	case r.URL.Path == "/v3/maintenance/defragment":
		e.spaces[slot] = space{e.spaces[slot].inUse, e.spaces[slot].inUse}
		call("defragment %s", slot)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (e *spaceEtcd) did() (calls []string, reads int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Compact(slices.Clone(e.calls)), e.reads
}

// TestSlotDefragmentsEtcd runs slot 1. Its own member has the ID 11.
func TestSlotDefragmentsEtcd(t *testing.T) {
	three := func(first, own, last space) map[string]space {
		return map[string]space{"0": first, "1": own, "2": last}
	}
	dense, loose := space{1000, 900}, space{1000, 500}
	for name, c := range map[string]struct {
		etcd *spaceEtcd
		want []string
	}{
		"all use their space": {etcd: &spaceEtcd{leader: "10", spaces: three(dense, dense, dense)}},
		"its own has space": {
			etcd: &spaceEtcd{leader: "10", spaces: three(dense, loose, dense)}, want: []string{"defragment 1"},
		},
		"little space in a small database": {etcd: &spaceEtcd{leader: "10", spaces: three(dense, space{100, 10}, dense)}},
		"it is another one's turn":         {etcd: &spaceEtcd{leader: "12", spaces: three(loose, loose, dense)}},
		"it leads": {
			etcd: &spaceEtcd{leader: "11", spaces: three(dense, loose, dense)}, want: []string{"transfer to 10", "defragment 1"},
		},
		"it leads, and others come first": {etcd: &spaceEtcd{leader: "11", spaces: three(dense, loose, loose)}},
		"another one is down":             {etcd: &spaceEtcd{leader: "10", spaces: three(dense, loose, dense), down: "2"}},
		"another one is joining": {etcd: &spaceEtcd{
			leader: "10", spaces: three(dense, loose, dense), members: []member{running("0"), running("1"), learner("2")},
		}},
		"it is the only one": {etcd: &spaceEtcd{leader: "11", quota: 2048, spaces: three(dense, loose, dense), members: []member{running("1")}}},
		"it is the only one, and nearly full": {
			etcd: &spaceEtcd{leader: "11", quota: 1200, spaces: three(dense, loose, dense), members: []member{running("1")}},
			want: []string{"defragment 1"},
		},
		"etcd is full of history": {
			etcd: &spaceEtcd{
				leader: "11", quota: 1000, full: []string{"11"}, spaces: three(dense, space{1000, 990}, dense), members: []member{running("1")},
			},
			want: []string{"compact 1000", "defragment 1", "compact 1000", "disarm 11"},
		},
		"etcd is full of objects": {
			etcd: &spaceEtcd{leader: "10", quota: 1000, full: []string{"11"}, spaces: three(space{990, 980}, space{1000, 990}, space{990, 980})},
		},
		"another one is full": {etcd: &spaceEtcd{leader: "10", quota: 1000, full: []string{"12"}, spaces: three(dense, space{500, 490}, space{1000, 990})}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.etcd.members == nil {
				c.etcd.members = []member{running("0"), running("1"), running("2")}
			}
			m := amongMembers(t, &etcd{}, func(b *bundle.Bundle) { b.TokenKey = tokenKey })
			m.account.names["etcd-1.demo.internal"] = "10.0.1.1"
			server := httptest.NewUnstartedServer(c.etcd)
			server.TLS = m.trustEtcd(t)
			server.Config.ErrorLog = log.New(io.Discard, "", 0) // the slot ends amid requests
			server.StartTLS()
			t.Cleanup(server.Close)
			m.dial(server.Listener.Addr().String())
			keepTokenUntil(t, m, "it has looked often enough", func() error {
				if did, reads := c.etcd.did(); reads < 10 || len(did) < len(c.want) {
					return errors.New("it has not")
				}
				return nil
			})
			if did, _ := c.etcd.did(); !slices.Equal(did, c.want) {
				t.Errorf("it did %v, want %v\n%s", did, c.want, m.log)
			}
		})
	}
}

// keepTokenUntil runs the service of a slot until something holds.
func keepTokenUntil(t *testing.T, m *machine, what string, holds func() error) {
	t.Helper()
	server := httptest.NewTLSServer(&leaveAPI{data: map[string]string{}})
	t.Cleanup(server.Close)
	(&keeper{machine: m}).writeAdminConf(t, server)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- nodeup.KeepToken(ctx, m.options) }()
	patience.Until(t, what, holds)
	cancel()
	<-ended
}

// TestFullEtcdWritesAgain fills a real etcd with the history of one key until it refuses writes. The API server cannot compact
// it any more, since that is a write, too.
func TestFullEtcdWritesAgain(t *testing.T) {
	s := newSaver(t, newStore(t), 0, nil)
	full := s.startEtcd(t, filepath.Join(t.TempDir(), "data"), fmt.Sprintf("--quota-backend-bytes=%d", 16*mib))
	full.put("kept", "before")
	value := strings.Repeat("x", mib)
	patience.Until(t, "etcd is full", func() error {
		err := full.write(t.Context(), "key", value)
		if err == nil {
			return errors.New("it takes writes")
		}
		if !strings.Contains(err.Error(), "database space exceeded") {
			return err
		}
		return nil
	})
	m := amongMembers(t, nil, func(b *bundle.Bundle) {
		b.TokenKey, b.Etcd.Slot, b.Etcd.DNSName = tokenKey, 0, "etcd-0.demo.internal"
		b.Etcd.Members = map[string]string{"etcd-0": "etcd-0.demo.internal"}
	})
	m.account.names["etcd-0.demo.internal"] = "10.0.1.0"
	copyFolder(t, filepath.Join(s.root, "/etc/kubernetes/pki/etcd"), filepath.Join(m.root, "/etc/kubernetes/pki/etcd"))
	m.dial(full.address)
	keepTokenUntil(t, m, "etcd takes writes", func() error { return full.write(t.Context(), "after", "it was full") })
	if got := full.all(); got["kept"] != "before" || got["key"] != value || got["after"] == "" {
		t.Errorf("etcd has %d keys", len(got))
	}
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(to), os.MkdirAll(filepath.Dir(to), 0o755), os.CopyFS(to, os.DirFS(from))); err != nil {
		t.Fatal(err)
	}
}
