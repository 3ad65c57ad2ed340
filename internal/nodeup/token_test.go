package nodeup_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/cluster/pki"
	"github.com/aws-operator/aws-operator/internal/nodeup"
	"github.com/aws-operator/aws-operator/internal/patience"
)

const tokenKey = "token/bootstrap-token"

// tokenAPI is a cluster's API that holds bootstrap tokens.
type tokenAPI struct {
	mu      sync.Mutex
	secrets []map[string][]byte
	refuses int // how often it does not take a token
}

func (a *tokenAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/apis/") { // What an approver asks is not answered here.
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that the client no longer exists
		<-r.Context().Done()
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case r.URL.Path != "/api/v1/namespaces/kube-system/secrets":
		w.WriteHeader(http.StatusForbidden)
	case r.Method == http.MethodGet && r.URL.Query().Get("fieldSelector") == "type=bootstrap.kubernetes.io/token":
		items := make([]any, 0, len(a.secrets))
		for _, data := range a.secrets {
			items = append(items, map[string]any{"data": data})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "SecretList", "items": items})
	case r.Method == http.MethodPost && a.refuses > 0:
		a.refuses--
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.Method == http.MethodPost:
		var secret struct {
			Type       string
			StringData map[string]string
		}
		if err := json.NewDecoder(r.Body).Decode(&secret); err != nil || secret.Type != "bootstrap.kubernetes.io/token" {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		data := map[string][]byte{}
		for key, value := range secret.StringData {
			data[key] = []byte(value)
		}
		a.secrets = append(a.secrets, data)
		w.WriteHeader(http.StatusCreated)
	}
}

// known returns the tokens, id.secret, in the order in which they were made.
func (a *tokenAPI) known() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]string, 0, len(a.secrets))
	for _, s := range a.secrets {
		all = append(all, string(s["token-id"])+"."+string(s["token-secret"]))
	}
	return all
}

// keeper is a slot that keeps tokens, on a clock of its own.
type keeper struct {
	*machine
	api   *tokenAPI
	clock *testclock.FakeClock
}

func newKeeper(t *testing.T) *keeper {
	t.Helper()
	return newKeeperOf(t, nil)
}

func newKeeperOf(t *testing.T, join *bundle.Join) *keeper {
	t.Helper()
	b := slot()
	b.TokenKey, b.Join = tokenKey, join
	k := &keeper{machine: newMachine(t, b), api: &tokenAPI{}, clock: testclock.NewFakeClock(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))}
	server := httptest.NewTLSServer(k.api)
	t.Cleanup(server.Close)
	k.options.Clock = k.clock
	k.writeAdminConf(t, server)
	return k
}

func (k *keeper) writeAdminConf(t *testing.T, server *httptest.Server) {
	t.Helper()
	file := filepath.Join(k.root, "/etc/kubernetes/admin.conf")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, adminConf(t, server), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start keeps tokens until the test ends. It steps the clock by each duration as soon as the slot
// waits.
func (k *keeper) start(t *testing.T, passing ...time.Duration) {
	t.Helper()
	k.clock = testclock.NewFakeClock(k.clock.Now()) // the former one still has the waiter of the former start
	k.options.Clock = k.clock
	ctx, cancel := context.WithCancel(patience.Context(t))
	ended := make(chan error, 1)
	go func() { ended <- nodeup.KeepToken(ctx, k.options) }()
	for _, length := range append(passing, 0) {
		for !k.clock.HasWaiters() {
			select {
			case err := <-ended:
				t.Fatalf("it ended: %v", err)
			case <-time.After(time.Millisecond):
			}
		}
		k.clock.Step(length)
	}
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func (k *keeper) published() string { return string(k.account.objects[tokenKey]) }

func TestSlotKeepsATokenThatTheAPIHas(t *testing.T) {
	k := newKeeper(t)
	k.start(t)
	known := k.api.known()
	if len(known) != 1 || known[0] != k.published() {
		t.Fatalf("the API knows %d tokens; the bucket's is one of them: %v", len(known), len(known) == 1 && known[0] == k.published())
	}
	if _, err := pki.ParseToken(k.published()); err != nil {
		t.Error(err)
	}
	secret := k.api.secrets[0]
	if string(secret["expiration"]) != "2027-01-02T00:00:00Z" || string(secret["usage-bootstrap-authentication"]) != "true" ||
		string(secret["auth-extra-groups"]) != "system:bootstrappers:kubeadm:default-node-token" {
		t.Errorf("it is good until %s for %s", secret["expiration"], secret["auth-extra-groups"])
	}
	if log := k.log.String(); strings.Contains(log, string(secret["token-secret"])) {
		t.Errorf("the log has the token: %s", log)
	}
}

func TestTokenIsRenewedAfterHalfItsLifetime(t *testing.T) {
	k := newKeeper(t)
	k.start(t, 15*time.Minute, 11*time.Hour)
	if known := k.api.known(); len(known) != 1 {
		t.Fatalf("after eleven hours there are %d tokens", len(known))
	}
	first := k.published()
	k.start(t, time.Hour)
	if known := k.api.known(); len(known) != 2 || known[1] != k.published() || known[0] != first {
		t.Errorf(
			"after twelve hours there are %d tokens, and the bucket holds the last: %v", len(known), known[len(known)-1] == k.published(),
		)
	}
}

// Each slot checks for itself. The second one finds the token that the first one created.
func TestSlotsShareOneToken(t *testing.T) {
	k := newKeeper(t)
	for range 3 {
		k.start(t)
	}
	if known := k.api.known(); len(known) != 1 {
		t.Errorf("three slots made %d tokens", len(known))
	}
}

// If a slot is interrupted or the API does not respond, the API does not have the token and rejects
// nodes that join with it: the slot creates another.
func TestTokenThatTheAPIRejectedIsReplaced(t *testing.T) {
	k := newKeeper(t)
	k.api.refuses = 1
	k.start(t, time.Second)
	if known := k.api.known(); len(known) != 1 || known[0] != k.published() {
		t.Errorf("the API knows %d tokens, and not the bucket's", len(known))
	}
}

// A slot of an earlier release that was cut short left a token that the API does not know, and
// another slot's token is good.
func TestTokenInTheBucketUnknownToTheAPIIsReplaced(t *testing.T) {
	k := newKeeper(t)
	k.start(t)
	k.account.objects[tokenKey] = []byte("unsaid.0123456789abcdef")
	k.start(t)
	if known := k.api.known(); len(known) != 1 || known[0] != k.published() {
		t.Errorf("the API knows %d tokens, and not the bucket's", len(known))
	}
}

// Machines join with what they read, so a token that the API did not take must not be in the
// bucket, not even for a moment.
func TestTokenThatTheAPIRejectsIsNotPublished(t *testing.T) {
	k := newKeeper(t)
	k.api.refuses = 1
	k.start(t)
	if found := k.published(); found != "" && !slices.Contains(k.api.known(), found) {
		t.Error("the bucket holds a token that the API does not know")
	}
}

func TestTokenOfAUserIsNotPublished(t *testing.T) {
	k := newKeeper(t)
	k.api.secrets = []map[string][]byte{{"token-id": []byte("users0"), "expiration": []byte("2030-01-01T00:00:00Z")}}
	k.start(t)
	if known := k.api.known(); len(known) != 2 {
		t.Errorf("there are %d tokens", len(known))
	}
}

func TestSlotStartsTheTokenUnit(t *testing.T) {
	b := slot()
	b.TokenKey = tokenKey
	m := newMachine(t, b)
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(m.calls(t), "systemctl enable --now nodeup-token.service\n") {
		t.Errorf("it is not started: %s", m.calls(t))
	}
	unit := m.read(t, "/etc/systemd/system/nodeup-token.service")
	if !strings.Contains(unit, "--bundle "+b.Hash()+" --keep-token\n") || !strings.Contains(unit, "Restart=always\n") {
		t.Errorf("the unit is\n%s", unit)
	}
}

func TestWorkerReadsTheTokenFromTheBucket(t *testing.T) {
	b := worker()
	b.TokenParameter, b.TokenKey = "", tokenKey
	m := newMachine(t, b)
	m.account.objects[tokenKey] = []byte(token)
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(m.calls(t), "kubeadm join") {
		t.Errorf("it did not join: %s", m.calls(t))
	}
}
