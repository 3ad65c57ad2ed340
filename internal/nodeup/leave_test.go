package nodeup_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/nodeup"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// leaveAPI is a cluster's API with the ConfigMap by which a slot is asked to leave.
type leaveAPI struct {
	tokenAPI

	mu    sync.Mutex
	data  map[string]string
	reads int
}

func (a *leaveAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/kube-system/configmaps") {
		a.tokenAPI.ServeHTTP(w, r)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Method == http.MethodPatch && r.Header.Get("Content-Type") == "application/strategic-merge-patch+json" {
		var patch struct{ Data map[string]string }
		_ = json.NewDecoder(r.Body).Decode(&patch)
		a.data[bundle.LeftInstance] = patch.Data[bundle.LeftInstance]
		return
	}
	a.reads++
	_ = json.NewEncoder(w).Encode(map[string]any{"items": []any{map[string]any{"data": a.data}}})
}

func (a *leaveAPI) left() (instance string, reads int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.data[bundle.LeftInstance], a.reads
}

// A slot that is asked to leave ends its API server, removes its member, and says so. It does neither while
// another member is unhealthy, or if another slot is asked.
func TestSlotLeavesEtcd(t *testing.T) {
	const own, manifest, held = "i-0123456789abcdef0", "/etc/kubernetes/manifests/kube-apiserver.yaml", "/var/lib/nodeup/leave/kube-apiserver.yaml"
	for reason, c := range map[string]struct {
		asked  string
		others etcd
		held   bool // the manifest was taken away before
		leaves bool
		calls  []string
	}{
		"all are healthy":              {asked: own, leaves: true, calls: []string{"remove 11"}},
		"killed before it was removed": {asked: own, held: true, leaves: true, calls: []string{"remove 11"}},
		"killed after it was removed":  {asked: own, held: true, leaves: true, others: etcd{members: []member{running("0"), running("2")}}},
		"another is unhealthy":         {asked: own, others: etcd{unhealthy: "etcd-2.demo.internal"}},
		"another is joining":           {asked: own, others: etcd{members: []member{running("0"), running("1"), learner("2")}}},
		"another is asked":             {asked: "i-0fedcba9876543210"},
		"none is asked any more":       {held: true},
	} {
		t.Run(reason, func(t *testing.T) {
			if c.others.members == nil {
				c.others.members = []member{running("0"), running("1"), running("2")}
			}
			m := amongMembers(t, &c.others, func(b *bundle.Bundle) { b.TokenKey = tokenKey })
			etcdDial := m.options.Dial
			m.options.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				if _, err := os.Stat(filepath.Join(m.root, manifest)); strings.HasSuffix(address, ":6443") && err != nil {
					return nil, errors.New("connection refused")
				}
				return etcdDial(ctx, network, address)
			}
			api := &leaveAPI{data: map[string]string{bundle.LeaveInstance: c.asked}}
			server := httptest.NewTLSServer(api)
			t.Cleanup(server.Close)
			(&keeper{machine: m}).writeAdminConf(t, server)
			file := manifest
			if c.held {
				file = held
			}
			path := filepath.Join(m.root, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("the API server"), 0o600)); err != nil {
				t.Fatal(err)
			}

			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- nodeup.KeepToken(ctx, m.options) }()
			patience.Until(t, "the slot has looked twice", func() error {
				if left, reads := api.left(); reads < 3 || c.leaves && left == "" {
					return errors.New("it has not")
				}
				return nil
			})
			cancel()
			<-ended
			if left, _ := api.left(); (left != "") != c.leaves || c.leaves && left != "i-0123456789abcdef0" {
				t.Errorf("it says that the instance %q left", left)
			}
			if !slices.Equal(c.others.calls, c.calls) {
				t.Errorf("the slot asked for %v, want %v", c.others.calls, c.calls)
			}
			_, err := os.Stat(filepath.Join(m.root, manifest))
			if serves := err == nil; serves == c.leaves && reason != "killed after it was removed" {
				t.Errorf("its API server is to run: %t", serves)
			}
		})
	}
}
