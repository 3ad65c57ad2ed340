package console_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cli/console"
	"github.com/aws-operator/aws-operator/internal/local/controlplane/controlplanetest"
)

const (
	// sharedHost is the host by which browsers reach the console that users share.
	sharedHost = "console.example.com"
	// sharedCookie is the cookie of the proxy in front of it. Its value is the user's name.
	sharedCookie = "session"
)

// team is a console that several users share, with a proxy in front of it that adds their tokens, and another one in
// front of the API server that counts what the console asks of it.
type team struct {
	*suite

	front string // host:port of the proxy
	back  string // host:port of the console
	api   *apiServer

	mu     sync.Mutex
	tokens map[string]string // of users by name
}

// newTeam starts a console in the environment of a pod: its kubeconfig, which it must not use, is that of an administrator.
func newTeam(t *testing.T, command func() *cobra.Command) *team {
	t.Helper()
	w := &team{suite: newSuite(t), tokens: map[string]string{}}
	w.api = startAPI(t, w.suite)
	controlplanetest.UseKubeconfig(t, w.config, w.namespace)
	host, port, err := net.SplitHostPort(w.api.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", host)
	t.Setenv("KUBERNETES_SERVICE_PORT", port)
	line := start(t, command(), "--in-cluster", "--host", sharedHost, "--certificate-authority", w.api.authority)
	_, w.back, _ = strings.Cut(line, "http://")
	front := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: w.back})
			r.Out.Host = r.In.Host
			r.Out.Header.Del("Authorization")
			r.Out.Header.Del("Cookie")
			if user, err := r.In.Cookie(sharedCookie); err == nil && w.token(user.Value) != "" {
				r.Out.Header.Set("Authorization", "Bearer "+w.token(user.Value))
			}
		},
	})
	t.Cleanup(front.Close)
	w.front = front.Listener.Addr().String()
	return w
}

// signIn makes the proxy add a token to a user's requests.
func (w *team) signIn(user, token string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tokens[user] = token
}

func (w *team) token(user string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tokens[user]
}

// user makes a user who may do some verbs with clusters and instance groups of the user's own namespace, and returns a
// browser in which the user is signed in and chose that namespace.
func (w *team) user(name string, verbs ...string) *browser {
	w.t.Helper()
	namespace := controlplanetest.Namespace(w.t, controlplanetest.Shared(w.t))
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, object := range []client.Object{
		account,
		&rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{clusterv1alpha1.Group}, Resources: []string{"clusters", "instancegroups"}, Verbs: verbs,
			}},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
		},
	} {
		if err := w.client.Create(w.t.Context(), object); err != nil {
			w.t.Fatal(err)
		}
	}
	request := &authenticationv1.TokenRequest{}
	if err := w.client.SubResource("token").Create(w.t.Context(), account, request); err != nil {
		w.t.Fatal(err)
	}
	w.signIn(name, request.Status.Token)
	return &browser{t: w.t, host: w.front, user: name, namespace: namespace}
}

// apiServer is a proxy in front of the API server. It has no credentials.
type apiServer struct {
	*httptest.Server

	authority string // file with its CA

	mu       sync.Mutex
	requests map[string][]string // by token
	watches  map[string]int      // that are open, by token
}

func startAPI(t *testing.T, w *suite) *apiServer {
	t.Helper()
	target, err := url.Parse(w.config.Host)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authorityOf(t, w))
	s := &apiServer{requests: map[string][]string{}, watches: map[string]int{}, authority: filepath.Join(t.TempDir(), "ca.crt")}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true},
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
	}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		watches := 0
		if r.URL.Query().Has("watch") {
			watches = 1
		}
		s.mu.Lock()
		s.requests[token] = append(s.requests[token], r.Method+" "+r.URL.String())
		s.watches[token] += watches
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.watches[token] -= watches
		}()
		proxy.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = nil
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(s.authority, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// authorityOf returns the CA of the real API server.
func authorityOf(t *testing.T, w *suite) []byte {
	t.Helper()
	if len(w.config.CAData) > 0 {
		return w.config.CAData
	}
	data, err := os.ReadFile(w.config.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// open returns how many watches of a token are open.
func (s *apiServer) open(token string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches[token]
}

// of returns the requests with a token that contain a text.
func (s *apiServer) of(token, text string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.requests[token]), func(r string) bool { return !strings.Contains(r, text) })
}

// tokens returns the tokens of all requests.
func (s *apiServer) tokens() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for token := range s.requests {
		all = append(all, token)
	}
	return all
}

// check runs the command with flags that it must refuse, and returns the error.
func check(t *testing.T, args ...string) error {
	t.Helper()
	cmd := console.Command()
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // It ends at once if it accepts them.
	return cmd.ExecuteContext(ctx)
}
