package console_test

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cfn/stack"
	"github.com/aws-operator/aws-operator/internal/cli/console"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// pendingIn makes a Cluster with a change that waits for approval.
func (w *team) pendingIn(namespace, name string) *clusterv1alpha1.Cluster {
	w.t.Helper()
	cluster := demo()
	cluster.Namespace, cluster.Name, cluster.Annotations = namespace, name, nil
	status := cluster.Status
	if err := w.client.Create(w.t.Context(), cluster); err != nil {
		w.t.Fatal(err)
	}
	cluster.Status = status
	w.setStatus(cluster)
	return cluster
}

func TestUsersOfASharedConsoleHaveTheirOwnRights(t *testing.T) {
	w := newTeam(t, console.Command)
	ada, bob := w.user("ada", "get", "list", "watch", "patch"), w.user("bob", "get", "list", "watch")
	w.pendingIn(ada.namespace, "hers")
	his := w.pendingIn(bob.namespace, "his")

	hers := ada.watch()
	id := hers.row("Cluster hers", "waiting").ID
	if status, body := ada.post("/api/approve", map[string]any{"id": id, "digests": []string{"aaa"}}); status != http.StatusOK {
		t.Errorf("an approval of ada: status %d, %s", status, body)
	}
	overview := bob.watch()
	row := overview.row("Cluster his", "waiting")
	status, body := bob.post("/api/approve", map[string]any{"id": row.ID, "digests": []string{"aaa"}})
	if status != http.StatusForbidden || !strings.Contains(body, bob.namespace+":bob") {
		t.Errorf("an approval of bob, who may only read: status %d, %s", status, body)
	}
	err := w.client.Get(t.Context(), client.ObjectKeyFromObject(his), his)
	if err != nil || his.Annotations[stack.ApproveAnnotation] != "" {
		t.Errorf("annotations %v, %v", his.Annotations, err)
	}
	if len(hers.rows) != 1 || len(overview.rows) != 1 {
		t.Errorf("ada sees %+v, bob sees %+v", hers.rows, overview.rows)
	}

	// Bob chooses ada's namespace, and all namespaces.
	for _, namespace := range []string{ada.namespace, ""} {
		curious := &browser{t: t, host: w.front, user: "bob", namespace: namespace}
		if status, body, _ := curious.send(curious.request(http.MethodGet, "/api/object?id="+id, "")); status != http.StatusUnauthorized {
			t.Errorf("bob reads ada's object in namespace %q without a page: status %d, %s", namespace, status, body)
		}
		overview := curious.watch()
		overview.until("the objects are read", func() bool { return overview.whole })
		if !slices.Contains(overview.hidden, "clusters") || len(overview.rows) > 0 {
			t.Errorf("bob sees %+v in namespace %q, and %q are hidden", overview.rows, namespace, overview.hidden)
		}
		if status, body, _ := curious.send(curious.request(http.MethodGet, "/api/object?id="+id, "")); status != http.StatusNotFound {
			t.Errorf("bob reads ada's object in namespace %q: status %d, %s", namespace, status, body)
		}
	}
	want := []string{w.token("ada"), w.token("bob")}
	if got := w.api.tokens(); len(got) != 2 || !slices.Contains(want, got[0]) || !slices.Contains(want, got[1]) {
		t.Errorf("the API server got %d tokens, want those of the two users only", len(got))
	}
}

func TestASharedConsoleRefusesOthers(t *testing.T) {
	w := newTeam(t, console.Command)
	ada := w.user("ada", "get", "list", "watch")
	w.signIn("mallory", "invalid")
	for name, c := range map[string]struct {
		method, path string
		change       func(r *http.Request)
		want         int
		says         string
	}{
		"the page without a token":         {http.MethodGet, "/", func(r *http.Request) { r.Header.Del("Cookie") }, http.StatusOK, "<html"},
		"data without a token":             {http.MethodGet, "/api/watch", func(r *http.Request) { r.Header.Del("Cookie") }, http.StatusUnauthorized, "has no token of a user"},
		"an order without a token":         {http.MethodPost, "/api/retry", func(r *http.Request) { r.Header.Del("Cookie") }, http.StatusUnauthorized, "has no token of a user"},
		"an order without an open page":    {http.MethodPost, "/api/retry", func(*http.Request) {}, http.StatusUnauthorized, "No page is open"},
		"a token that is not a user's":     {http.MethodGet, "/api/watch", func(r *http.Request) { r.Header.Set("Cookie", "session=mallory") }, http.StatusUnauthorized, "does not accept your credentials"},
		"another host":                     {http.MethodGet, "/", func(r *http.Request) { r.Host = "rebound.example" }, http.StatusForbidden, sharedHost},
		"the address of the pod":           {http.MethodGet, "/api/watch", func(r *http.Request) { r.Host = w.back }, http.StatusForbidden, sharedHost},
		"the host with a port":             {http.MethodGet, "/", func(r *http.Request) { r.Host = sharedHost + ":8443" }, http.StatusOK, "<html"},
		"a namespace that is a path":       {http.MethodGet, "/api/watch?namespace=..%2Fx", func(*http.Request) {}, http.StatusBadRequest, "namespace"},
		"an order of another site":         {http.MethodPost, "/api/retry", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden, "cross-origin"},
		"an order of another origin":       {http.MethodPost, "/api/retry", func(r *http.Request) { r.Header.Set("Origin", "https://other.example.com") }, http.StatusForbidden, "cross-origin"},
		"a watch by another site":          {http.MethodGet, "/api/watch", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden, "Only the page"},
		"a watch by a site of the domain":  {http.MethodGet, "/api/watch", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, http.StatusForbidden, "Only the page"},
		"another scheme than that of OIDC": {http.MethodGet, "/api/watch", func(r *http.Request) { r.URL.Host = w.back; r.Header.Set("Authorization", "Basic eDp5") }, http.StatusUnauthorized, "has no token"},
		"an empty token":                   {http.MethodGet, "/api/watch", func(r *http.Request) { r.URL.Host = w.back; r.Header.Set("Authorization", "Bearer ") }, http.StatusUnauthorized, "has no token"},
	} {
		b := &browser{t: t, host: w.front, user: "ada"}
		request := b.request(c.method, c.path, "")
		c.change(request)
		status, body, header := b.send(request)
		if status != c.want || !strings.Contains(body, c.says) {
			t.Errorf("%s: status %d, want %d and %q: %.200s", name, status, c.want, c.says, body)
		}
		if got := header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'; script-src 'self';") {
			t.Errorf("%s: Content-Security-Policy %q", name, got)
		}
	}
	if got := w.api.tokens(); len(got) != 1 || got[0] != "invalid" {
		t.Errorf("the API server was asked with %d tokens", len(got))
	}
	ada.watch() // Ada herself can still open the page.
}

// The API server caches that a token is valid for 10 seconds, and the console asks it at least every 10 seconds.
func TestAnInvalidTokenEndsTheStream(t *testing.T) {
	w := newTeam(t, console.Command)
	ada := w.user("ada", "get", "list", "watch")
	w.pendingIn(ada.namespace, "hers")
	overview := ada.watch()
	overview.row("Cluster hers", "waiting")
	token := w.token("ada")
	patience.UntilTrue(t, "both kinds are watched", func() bool { return w.api.open(token) >= 2 })
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ada.namespace, Name: "ada"}}
	if err := w.client.Delete(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	overview.until("the stream ends", func() bool { return overview.ended != "" })
	if !strings.Contains(overview.ended, "no longer signed in") {
		t.Errorf("the stream ends with %q", overview.ended)
	}
	if rest, err := overview.lines.ReadString('\n'); err == nil {
		t.Errorf("after its end, the stream has %q", rest)
	}
	patience.UntilTrue(t, "the watches end", func() bool { return w.api.open(token) == 0 })
	if status, body, _ := ada.send(ada.request(http.MethodGet, "/api/watch", "")); status != http.StatusUnauthorized {
		t.Errorf("another page: status %d, %s", status, body)
	}
	if status, body, _ := ada.send(ada.request(http.MethodGet, "/api/object?id=x", "")); status != http.StatusUnauthorized {
		t.Errorf("the object: status %d, %s", status, body)
	}
}

// A watch that the API server has accepted lasts some minutes; the test cuts it.
func TestObjectsDisappearWithThePermission(t *testing.T) {
	w := newTeam(t, console.Command)
	ada := w.user("ada", "get", "list", "watch")
	w.pendingIn(ada.namespace, "hers")
	overview := ada.watch()
	overview.row("Cluster hers", "waiting")
	patience.UntilTrue(t, "both kinds are watched", func() bool { return w.api.open(w.token("ada")) >= 2 })
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: ada.namespace, Name: "ada"}}
	if err := w.client.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	patience.UntilTrue(t, "the API server refuses", func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.api.URL+
			"/apis/"+clusterv1alpha1.GroupVersion.String()+"/namespaces/"+ada.namespace+"/clusters", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+w.token("ada"))
		response, err := w.api.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusForbidden
	})
	w.api.CloseClientConnections()
	overview.until("the cluster disappears", func() bool {
		return len(overview.rows) == 0 && slices.Contains(overview.hidden, "clusters") && slices.Contains(overview.hidden, "instancegroups")
	})
	patience.UntilTrue(t, "the watches end", func() bool { return w.api.open(w.token("ada")) == 0 })
}

func TestWatchesEndAfterTheLastPage(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now().Add(time.Hour)) // Deadlines of connections are in the future.
	w := newTeam(t, func() *cobra.Command { return console.CommandWithClock(clock) })
	ada := w.user("ada", "get", "list", "watch")
	w.pendingIn(ada.namespace, "hers")
	token := w.token("ada")
	first, second := ada.watch(), ada.watch()
	first.row("Cluster hers", "waiting")
	second.row("Cluster hers", "waiting")
	lists := len(w.api.of(token, "limit=1"))
	first.close()
	clock.Step(time.Minute)
	w.pendingIn(ada.namespace, "other")
	second.row("Cluster other", "waiting")
	timers := clock.Waiters()
	second.close()
	patience.UntilTrue(t, "the grace of the last page begins", func() bool { return clock.Waiters() > timers })
	third := ada.watch()
	third.row("Cluster other", "waiting")
	clock.Step(time.Minute)
	w.pendingIn(ada.namespace, "further")
	third.row("Cluster further", "waiting")
	if got := w.api.of(token, "limit=1"); len(got) != lists {
		t.Errorf("three pages of a user list each kind again: %q", got)
	}
	third.close()
	patience.UntilTrue(t, "the watches end", func() bool {
		clock.Step(time.Minute)
		return w.api.open(token) == 0
	})
	if status, body, _ := ada.send(ada.request(http.MethodGet, "/api/object?id=x", "")); status != http.StatusUnauthorized {
		t.Errorf("data without a page: status %d, %s", status, body)
	}
}

func TestAUserHasFewWatches(t *testing.T) {
	w := newTeam(t, console.Command)
	ada, bob := w.user("ada", "get", "list", "watch"), w.user("bob", "get", "list", "watch")
	var pages []*fleet
	for range 8 {
		one := &browser{t: t, host: w.front, user: "ada", namespace: controlplanetest.Namespace(t, controlplanetest.Shared(t))}
		pages = append(pages, one.watch())
	}
	status, body, _ := ada.send(ada.request(http.MethodGet, "/api/watch", ""))
	if status != http.StatusTooManyRequests || !strings.Contains(body, "close some") {
		t.Errorf("status %d, %s", status, body)
	}
	bob.watch() // Another user has room.
	pages[0].close()
	patience.UntilTrue(t, "a page that is closed makes room", func() bool {
		response, err := http.DefaultClient.Do(ada.request(http.MethodGet, "/api/watch", ""))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		return response.StatusCode == http.StatusOK
	})
}

func TestTheFirstLineNamesTheUser(t *testing.T) {
	w := newTeam(t, console.Command)
	ada := w.user("ada", "get", "list", "watch")
	text, err := ada.watch().lines.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var hello struct{ Where, User, Namespace string }
	if err := json.Unmarshal(text, &hello); err != nil {
		t.Fatal(err)
	}
	if hello.User != "system:serviceaccount:"+ada.namespace+":ada" || hello.Namespace != ada.namespace || !strings.Contains(hello.Where, ada.namespace) {
		t.Errorf("the stream begins with %+v", hello)
	}
}

func TestFlagsOfASharedConsole(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"AWS credentials of the pod":  {[]string{"--in-cluster", "--host", "a.example", "--aws"}, "--aws cannot be used with --in-cluster: all users would"},
		"the operator's log":          {[]string{"--in-cluster", "--host", "a.example", "--operator-log", "x"}, "--operator-log cannot be used with --in-cluster"},
		"a namespace":                 {[]string{"--in-cluster", "--host", "a.example", "-n", "x"}, "each user selects a namespace"},
		"no host":                     {[]string{"--in-cluster"}, "--in-cluster needs --host"},
		"a host with a port":          {[]string{"--in-cluster", "--host", "a.example:443"}, "without a scheme, a port and a path"},
		"a host with a scheme":        {[]string{"--in-cluster", "--host", "https://a.example"}, "without a scheme, a port and a path"},
		"a certificate without a key": {[]string{"--in-cluster", "--host", "a.example", "--tls-cert", "x"}, "need each other"},
		"a host for one user":         {[]string{"--host", "a.example"}, "need --in-cluster"},
		"no pod":                      {[]string{"--in-cluster", "--host", "a.example"}, "KUBERNETES_SERVICE_HOST"},
	} {
		if err := check(t, c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	err := check(t, "--in-cluster", "--host", "a.example", "--certificate-authority", "missing")
	if err == nil || !strings.Contains(err.Error(), "kube-root-ca.crt") {
		t.Errorf("without a CA: %v", err)
	}
}

func TestASharedConsoleServesHTTPS(t *testing.T) {
	lender := httptest.NewTLSServer(http.NotFoundHandler()) // of a certificate and a client that trusts it
	defer lender.Close()
	key, err := x509.MarshalPKCS8PrivateKey(lender.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file := func(name, kind string, data []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	certificate := file("tls.crt", "CERTIFICATE", lender.Certificate().Raw)
	t.Setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	line := start(t, console.Command(), "--in-cluster", "--host", sharedHost, "--certificate-authority", certificate,
		"--tls-cert", certificate, "--tls-key", file("tls.key", "PRIVATE KEY", key))
	_, address, _ := strings.Cut(line, " at ")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = sharedHost
	response, err := lender.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK || !strings.HasPrefix(address, "https://") {
		t.Errorf("%s: status %d", address, response.StatusCode)
	}
}
