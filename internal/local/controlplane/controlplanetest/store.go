package controlplanetest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws-operator/aws-operator/internal/local/controlplane"
)

// RemoveFromStore removes a custom object from etcd, whatever finalizers it has:
// group/plural/namespace/name.
// A deletion does the same if it began before a finalizer was added: the API server looks for
// finalizers first, and then removes the object without another look.
// https://github.com/kubernetes/kubernetes/issues/77988
func RemoveFromStore(t *testing.T, cluster *controlplane.ControlPlane, object string) {
	t.Helper()
	file := func(name string) string { return filepath.Join(cluster.Dir(), name) }
	certificate, err := tls.LoadX509KeyPair(file("kube-apiserver.crt"), file("kube-apiserver.key"))
	if err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(file("ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}, RootCAs: roots,
	}}
	defer transport.CloseIdleConnections()
	key := base64.StdEncoding.EncodeToString([]byte("/registry/" + object))
	req, err := http.NewRequestWithContext(
		t.Context(), http.MethodPost, cluster.Store()+"/v3/kv/deleterange", strings.NewReader(`{"key":"`+key+`"}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	out, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Body.Close() }()
	if answer, err := io.ReadAll(out.Body); err != nil || !strings.Contains(string(answer), `"deleted":"1"`) {
		t.Fatalf("etcd does not have %s: %s, %v", object, answer, err)
	}
}
