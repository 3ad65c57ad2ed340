package nodeup_test

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/nodeup"
)

const formedKey = "etcd/demo/formed"

// member is one of etcd's, as its gateway lists it.
type member struct {
	ID         string   `json:"ID"`
	Name       string   `json:"name,omitempty"`
	PeerURLs   []string `json:"peerURLs"`
	ClientURLs []string `json:"clientURLs,omitempty"`
	IsLearner  bool     `json:"isLearner,omitempty"`
}

// running is a member that has started.
func running(slot string) member {
	name := "etcd-" + slot
	return member{
		ID:         "1" + slot,
		Name:       name,
		PeerURLs:   []string{"https://" + name + ".demo.internal:2380"},
		ClientURLs: []string{"https://10.0.1." + slot + ":2379"},
	}
}

// expected is a member that was added, or listed from the beginning, and has not started.
func expected(slot string) member {
	m := running(slot)
	m.ID, m.Name, m.ClientURLs = "2"+slot, "", nil
	return m
}

// learner is a member that has started and has no vote.
func learner(slot string) member {
	m := running(slot)
	m.IsLearner = true
	return m
}

// etcd is the JSON gateway of the members of the other slots.
type etcd struct {
	members   []member
	cluster   string // its ID, that of holdData by default
	noQuorum  bool
	unhealthy string // the member that is
	behind    int    // how often a learner is not in sync yet
	calls     []string
}

func (e *etcd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ID           string
		PeerURLs     []string
		Linearizable bool
		IsLearner    bool
	}
	_ = json.NewDecoder(r.Body).Decode(&in) // A GET has no body.
	host, _, _ := net.SplitHostPort(r.Host)
	switch {
	case len(r.TLS.PeerCertificates) == 0:
		w.WriteHeader(http.StatusForbidden)
	case r.URL.Path == "/v3/maintenance/status":
		of := func(m member) bool { return m.IsLearner && strings.Contains(m.PeerURLs[0], host) }
		_ = json.NewEncoder(w).Encode(map[string]any{"isLearner": slices.ContainsFunc(e.members, of)})
	case e.noQuorum:
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"code":14,"message":"etcdserver: no leader"}`))
	case r.URL.Path == "/health":
		_, _ = fmt.Fprintf(w, `{"health":"%t","reason":"RAFT NO LEADER"}`, host != e.unhealthy)
	case r.URL.Path == "/v3/cluster/member/list" && in.Linearizable:
		_ = json.NewEncoder(w).Encode(map[string]any{
			"header": map[string]string{"cluster_id": cmp.Or(e.cluster, "7")}, "members": e.members,
		})
	case r.URL.Path == "/v3/cluster/member/remove":
		e.calls = append(e.calls, "remove "+in.ID)
		e.members = slices.DeleteFunc(e.members, func(m member) bool { return m.ID == in.ID })
		_, _ = w.Write([]byte(`{}`))
	case r.URL.Path == "/v3/cluster/member/add":
		if slices.ContainsFunc(e.members, func(m member) bool { return m.IsLearner }) {
			w.WriteHeader(http.StatusPreconditionFailed)
			_, _ = w.Write([]byte(`{"code":9,"message":"etcdserver: too many learner members in cluster"}`))
			return
		}
		e.calls = append(e.calls, "add "+strings.Join(in.PeerURLs, " "))
		e.members = append(e.members, member{ID: "99", PeerURLs: in.PeerURLs, IsLearner: in.IsLearner})
		_ = json.NewEncoder(w).Encode(map[string]any{"members": e.members})
	case r.URL.Path == "/v3/cluster/member/promote":
		if e.behind > 0 {
			e.behind--
			w.WriteHeader(http.StatusPreconditionFailed)
			_, _ = w.Write([]byte(`{"code":9,"message":"etcdserver: can only promote a learner member which is in sync with leader"}`))
			return
		}
		e.calls = append(e.calls, "promote "+in.ID)
		for i := range e.members {
			e.members[i].IsLearner = e.members[i].IsLearner && e.members[i].ID != in.ID
		}
		_, _ = w.Write([]byte(`{}`))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// amongMembers returns a machine of slot 1 of three, and connects it to etcd; nil is that of slots
// that do not run.
func amongMembers(t *testing.T, others *etcd, edit ...func(*bundle.Bundle)) *machine {
	t.Helper()
	b := slot()
	b.Etcd.FormedKey = formedKey
	b.Etcd.Members["etcd-2"] = "etcd-2.demo.internal"
	b.Kubeadm.Config = "members: " + initialCluster("0", "1", "2") + "\nstate: ${ETCD_CLUSTER_STATE}\n"
	for _, one := range edit {
		one(b)
	}
	m := newMachine(t, b)
	config := m.trustEtcd(t)
	m.options.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, fmt.Errorf("connection refused") }
	if others == nil {
		return m
	}
	m.account.names["etcd-0.demo.internal"], m.account.names["etcd-2.demo.internal"] = "10.0.1.0", "10.0.1.2"
	server := httptest.NewUnstartedServer(others)
	server.TLS = config
	server.StartTLS()
	t.Cleanup(server.Close)
	m.dial(server.Listener.Addr().String())
	return m
}

// dial connects the machine to one address, whichever member it asks.
func (m *machine) dial(address string) {
	m.options.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
}

// trustEtcd makes a CA of etcd's and a certificate for members and clients on the machine. It
// returns what a member serves with.
func (m *machine) trustEtcd(t *testing.T) *tls.Config {
	t.Helper()
	ca, key := certificate(t, nil, nil)
	write := func(name string, content []byte) {
		path := filepath.Join(m.root, "/etc/kubernetes/pki/etcd", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leaf, leafKey := certificate(t, ca, key)
	der, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		t.Fatal(err)
	}
	write("ca.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw}))
	write("healthcheck-client.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw}))
	write("healthcheck-client.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Raw}, PrivateKey: leafKey}},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12,
	}
}

// certificate makes one of the members', or a CA's if there is none to sign it.
func certificate(t *testing.T, ca *x509.Certificate, caKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "etcd"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter:    time.Now().Add(time.Hour),
		DNSNames:    []string{"etcd-0.demo.internal", "etcd-1.demo.internal", "etcd-2.demo.internal"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ca == nil {
		template.IsCA, template.BasicConstraintsValid, ca, caKey = true, true, template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, key.Public(), caKey)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made, key
}

// initialCluster lists the members of slots as etcd takes them.
func initialCluster(slots ...string) string {
	var members []string
	for _, slot := range slots {
		members = append(members, "etcd-"+slot+"="+running(slot).PeerURLs[0])
	}
	return strings.Join(members, ",")
}

// state returns etcd's initial cluster state and members as kubeadm is given them.
func (m *machine) state(t *testing.T) (state, members string) {
	t.Helper()
	config, state, _ := strings.Cut(strings.TrimSpace(m.read(t, "/var/lib/nodeup/kubeadm.yaml")), "\nstate: ")
	return state, strings.TrimPrefix(config, "members: ")
}

// holdData makes the volume one that a member with the ID has run on; 0 is one whose log cannot be read.
func (m *machine) holdData(t *testing.T, id uint64) {
	t.Helper()
	folder := filepath.Join(m.root, "/var/lib/etcd/member/wal")
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		t.Fatal(err)
	}
	if id == 0 {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		return
	}
	metadata, err := (&etcdserverpb.Metadata{NodeID: id, ClusterID: 7}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	log, err := wal.Create(zap.NewNop(), folder, metadata)
	if err == nil {
		err = log.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

const (
	addOwn     = "add https://etcd-1.demo.internal:2380"
	promoteOwn = "promote 99"
)

// TestSlotDecidesWhetherItsMemberJoins covers what a slot finds on its volume and at the other
// slots.
func TestSlotDecidesWhetherItsMemberJoins(t *testing.T) {
	for reason, c := range map[string]struct {
		others *etcd
		formed bool // etcd had a quorum before
		data   bool // the volume holds a member
		id     uint64
		state  string
		calls  []string
		joins  []string // the slots with whose members etcd starts, all by default
	}{
		"a new cluster, the others have not started": {state: "new"},
		"a new cluster, the others started but form no quorum yet": {
			others: &etcd{noQuorum: true}, state: "new",
		},
		"a new cluster that has formed without the slot": {
			others: &etcd{members: []member{running("0"), expected("1"), running("2")}}, state: "existing",
		},
		"a replaced machine with its data": {
			others: &etcd{members: []member{running("0"), running("1"), running("2")}}, formed: true, data: true, state: "existing",
		},
		"a restarted control plane with its data": {others: &etcd{noQuorum: true}, formed: true, data: true, state: "existing"},
		"a blank volume of a member that has run": {
			others: &etcd{members: []member{running("0"), running("1"), running("2")}}, formed: true, state: "existing",
			calls: []string{"remove 11", addOwn, promoteOwn},
		},
		"killed between removing and adding": {
			others: &etcd{members: []member{running("0"), running("2")}}, formed: true, state: "existing",
			calls: []string{addOwn, promoteOwn},
		},
		"killed after adding": {
			others: &etcd{members: []member{running("0"), running("2"), expected("1")}}, formed: true, state: "existing",
		},
		"data of a member that was removed": {
			others: &etcd{members: []member{running("0"), running("2")}}, formed: true, data: true, state: "existing",
			calls: []string{addOwn, promoteOwn},
		},
		"its own data": {
			others: &etcd{members: []member{running("0"), running("1"), running("2")}}, formed: true, data: true, id: 11, state: "existing",
		},
		"data of a member that another has replaced, in another zone": {
			others: &etcd{members: []member{running("0"), running("1"), running("2")}}, formed: true, data: true, id: 5, state: "existing",
			calls: []string{"remove 11", addOwn, promoteOwn},
		},
		"data of a member that another was to replace, in another zone": {
			others: &etcd{members: []member{running("0"), expected("1"), running("2")}}, formed: true, data: true, id: 5, state: "existing",
		},
		"data of a member of another cluster, as while others are not restored yet": {
			others: &etcd{cluster: "8", members: []member{running("0"), running("1"), running("2")}}, formed: true, data: true, id: 5,
			state: "existing",
		},
		"data of a member while no quorum runs": {others: &etcd{noQuorum: true}, formed: true, data: true, id: 5, state: "existing"},
		"a slot that the only one grows by": {
			others: &etcd{members: []member{running("0")}, behind: 2}, formed: true, state: "existing",
			calls: []string{addOwn, promoteOwn}, joins: []string{"0", "1"},
		},
		"killed between starting and promoting": {
			others: &etcd{members: []member{running("0"), learner("1")}}, formed: true, data: true, state: "existing",
			calls: []string{"promote 11"},
		},
	} {
		t.Run(reason, func(t *testing.T) {
			m := amongMembers(t, c.others)
			if c.formed {
				m.account.objects[formedKey] = nil
			}
			if c.data {
				m.holdData(t, c.id)
			}
			if err := nodeup.Run(t.Context(), m.options); err != nil {
				t.Fatal(err)
			}
			if c.joins == nil {
				c.joins = []string{"0", "1", "2"}
			}
			if state, members := m.state(t); state != c.state || members != initialCluster(c.joins...) {
				t.Errorf("etcd starts with the state %q and the members %q, want %q and those of %v", state, members, c.state, c.joins)
			}
			calls := []string(nil)
			if c.others != nil {
				calls = c.others.calls
			}
			if !slices.Equal(calls, c.calls) {
				t.Errorf("the slot asked for %v, want %v", calls, c.calls)
			}
			if _, noted := m.account.objects[formedKey]; !noted {
				t.Error("the slot did not note that etcd has a quorum")
			}
		})
	}
}

// TestSlotWaitsWhileJoiningIsNotSafe keeps a slot with a blank volume from making a second cluster,
// and from removing a member while another is unhealthy.
func TestSlotWaitsWhileJoiningIsNotSafe(t *testing.T) {
	all := []member{running("0"), running("1"), running("2")}
	for reason, c := range map[string]struct {
		others *etcd
		says   string
	}{
		"no other slot runs":         {nil, "restore a snapshot with spec.controlPlane.restoreSnapshot"},
		"the others have no quorum":  {&etcd{members: all, noQuorum: true}, "restore a snapshot with spec.controlPlane.restoreSnapshot"},
		"another member is not well": {&etcd{members: slices.Clone(all), unhealthy: "etcd-2.demo.internal"}, "etcd-2.demo.internal is unhealthy"},
	} {
		t.Run(reason, func(t *testing.T) {
			m := amongMembers(t, c.others)
			m.account.objects[formedKey] = nil
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tries := 0
			m.options.Log = slogTo(m.log, func(message string) {
				if message == "etcd member" {
					if tries++; tries > 3 {
						cancel()
					}
				}
			})
			if err := nodeup.Run(ctx, m.options); err == nil {
				t.Error("the slot booted")
			}
			if !strings.Contains(m.log.String(), c.says) {
				t.Errorf("the log is\n%s\nwant in it\n%s", m.log, c.says)
			}
			if c.others != nil && len(c.others.calls) > 0 {
				t.Errorf("the slot asked for %v", c.others.calls)
			}
			if calls := m.calls(t); strings.Contains(calls, "etcd local") {
				t.Errorf("etcd was started:\n%s", calls)
			}
		})
	}
}

// TestReplacedVolumeIsNotRestored joins a slot whose volume was lost after its cluster was restored
// from a snapshot: the snapshot's data is older than what the other members have.
func TestReplacedVolumeIsNotRestored(t *testing.T) {
	for _, formed := range []bool{false, true} {
		m := amongMembers(t, &etcd{members: []member{running("0"), running("1"), running("2")}})
		b := slot()
		b.Etcd.FormedKey, b.Etcd.Members["etcd-2"] = formedKey, "etcd-2.demo.internal"
		b.Kubeadm.Config = initialCluster("0", "1", "2")
		b.Etcd.Restore = &bundle.EtcdRestore{Snapshot: "snap-0123456789abcdef0", Program: "nodeup/restore"}
		m.account.objects[bundle.Key(b.Hash())], m.options.BundleSHA256 = b.JSON(), b.Hash()
		m.account.objects["nodeup/restore"] = []byte("#!/bin/sh\necho etcd-restore >> \"$CALLS\"\n")
		if formed {
			m.account.objects[formedKey] = nil
		}
		if err := nodeup.Run(t.Context(), m.options); err != nil {
			t.Fatal(err)
		}
		if restored := strings.Contains(m.calls(t), "etcd-restore"); restored == formed {
			t.Errorf("formed before: %t, restored: %t", formed, restored)
		}
	}
}

// TestRestoreProgramOfAnotherHashIsRefused runs the program of the bundle's hash and no other.
func TestRestoreProgramOfAnotherHashIsRefused(t *testing.T) {
	program := []byte("#!/bin/sh\necho etcd-restore >> \"$CALLS\"\n")
	for reason, c := range map[string]struct {
		inBucket []byte
		refused  bool
	}{
		"the bundle's program": {inBucket: program},
		"another program":      {inBucket: append(slices.Clone(program), '#'), refused: true},
	} {
		t.Run(reason, func(t *testing.T) {
			b := slot()
			b.Etcd.Restore = &bundle.EtcdRestore{
				Snapshot:      "snap-0123456789abcdef0",
				Program:       "nodeup/restore",
				ProgramSHA256: bundle.HashOf(program),
			}
			m := newMachine(t, b)
			m.account.objects["nodeup/restore"] = c.inBucket
			err := nodeup.Run(t.Context(), m.options)
			if (err != nil) != c.refused || c.refused && !strings.Contains(err.Error(), "the bundle expects "+bundle.HashOf(program)) {
				t.Errorf("it ended with %v", err)
			}
			if ran := strings.Contains(m.calls(t), "etcd-restore"); ran == c.refused {
				t.Errorf("the program ran: %t", ran)
			}
		})
	}
}
