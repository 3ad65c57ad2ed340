package rewrite_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/aws-operator/aws-operator/internal/cluster/rewrite"
	"github.com/aws-operator/aws-operator/internal/local/controlplane"
	"github.com/aws-operator/aws-operator/internal/patience"
)

const (
	confidential = "c0nf1dential"
	encrypted    = "k8s:enc:secretbox:v1:"
)

// configuration is an EncryptionConfiguration that encrypts with a key.
const configuration = `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets, widgets.example.com]
  providers:
  - secretbox: {keys: [{name: a, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}
  - identity: {}
`

// plane is a real API server with an etcd.
type plane struct {
	t    *testing.T
	dir  string
	at   *controlplane.ControlPlane
	kube kubernetes.Interface
	api  rewrite.Cluster
	// seen reports that a response had what is confidential.
	seen atomic.Bool
}

// start starts the API server, with an encryption configuration or without.
func (p *plane) start(encrypts bool) {
	p.t.Helper()
	binaries, err := controlplane.FindBinaries(p.t.Context(), os.Stderr)
	if err != nil {
		p.t.Fatal(err)
	}
	if encrypts {
		folder := p.t.TempDir()
		config, script := filepath.Join(folder, "encryption.yaml"), filepath.Join(folder, "script")
		program := filepath.Join(folder, "kube-apiserver") // The project's own binary is all programs, by their names.
		run := "#!/bin/sh\nexec " + program + ` "$@" --encryption-provider-config=` + config + "\n"
		err := errors.Join(
			os.Symlink(binaries.APIServer, program),
			os.WriteFile(config, []byte(configuration), 0o600),
			os.WriteFile(script, []byte(run), 0o700),
		)
		if err != nil {
			p.t.Fatal(err)
		}
		binaries.APIServer = script
	}
	if p.at, err = controlplane.Start(p.t.Context(), controlplane.Options{Dir: p.dir, Binaries: binaries}); err != nil {
		p.t.Fatal(err)
	}
	config := p.at.RESTConfig()
	config.QPS = -1
	p.kube = kubernetes.NewForConfigOrDie(config)
	watched := rest.CopyConfig(config)
	watched.Wrap(func(next http.RoundTripper) http.RoundTripper { return &observer{next, &p.seen} })
	p.api = rewrite.Cluster{
		REST: kubernetes.NewForConfigOrDie(watched).CoreV1().RESTClient(), Metadata: metadata.NewForConfigOrDie(watched),
	}
}

func (p *plane) stop() {
	p.t.Helper()
	if err := p.at.Stop(); err != nil {
		p.t.Error(err)
	}
}

// observer looks for what is confidential in responses.
type observer struct {
	next http.RoundTripper
	seen *atomic.Bool
}

func (o *observer) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := o.next.RoundTrip(request)
	if err != nil {
		return nil, err //nolint:wrapcheck // The client wraps it.
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if bytes.Contains(body, []byte(confidential)) || bytes.Contains(body, []byte(base64.StdEncoding.EncodeToString([]byte(confidential)))) {
		o.seen.Store(true)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, err //nolint:wrapcheck // The client wraps it.
}

func (p *plane) put(name string) {
	p.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"a": confidential}}
	if _, err := p.kube.CoreV1().Secrets("default").Create(p.t.Context(), secret, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

// stored returns what etcd has below a key.
func (p *plane) stored(key string) map[string]string {
	p.t.Helper()
	file := func(name string) string { return filepath.Join(p.at.Dir(), name) }
	pair, err := tls.LoadX509KeyPair(file("kube-apiserver.crt"), file("kube-apiserver.key"))
	if err != nil {
		p.t.Fatal(err)
	}
	authority, err := os.ReadFile(file("ca.crt"))
	if err != nil {
		p.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, Certificates: []tls.Certificate{pair}},
	}}
	defer client.CloseIdleConnections()
	query, err := json.Marshal(map[string][]byte{"key": []byte(key), "range_end": []byte(strings.TrimSuffix(key, "/") + "0")})
	if err != nil {
		p.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.at.Store()+"/v3/kv/range", bytes.NewReader(query))
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	var found struct{ Kvs []struct{ Key, Value []byte } }
	if err := json.NewDecoder(response.Body).Decode(&found); err != nil {
		p.t.Fatal(err)
	}
	of := map[string]string{}
	for _, one := range found.Kvs {
		of[string(one.Key)] = string(one.Value)
	}
	return of
}

func (p *plane) countPlain(key string) (plain, all int) {
	stored := p.stored(key)
	for _, value := range stored {
		if !strings.HasPrefix(value, encrypted) {
			plain++
		}
	}
	return plain, len(stored)
}

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// addWidget adds an object of a custom resource.
func (p *plane) addWidget() {
	p.t.Helper()
	objects := dynamic.NewForConfigOrDie(p.at.RESTConfig())
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Cluster", "names": map[string]any{"plural": "widgets", "kind": "Widget"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	if _, err := objects.Resource(definitions).Create(p.t.Context(), definition, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "one"}, "secret": confidential,
	}}
	patience.Until(p.t, "the custom resource is served", func() error {
		_, err := objects.Resource(widgets).Create(p.t.Context(), widget.DeepCopy(), metav1.CreateOptions{})
		return err
	})
}

// A real API server encrypts what it stored in plain text, although the process that asks for it ends at random moments,
// and others change and delete objects meanwhile. The content of objects never leaves the API server. Objects that are
// encrypted already are not written again.
func TestObjectsAreEncrypted(t *testing.T) {
	const objects = 1100 // More than two pages.
	p := &plane{t: t, dir: t.TempDir()}
	p.start(false)
	for i := range objects {
		p.put("s-" + strconv.Itoa(i))
	}
	p.addWidget()
	p.stop()
	p.start(true)
	defer p.stop()
	if plain, all := p.countPlain("/registry/secrets/"); plain != objects || all != objects {
		t.Fatalf("at first, %d of %d Secrets are in plain text", plain, all)
	}
	since, err := rewrite.Revision(t.Context(), p.api)
	if err != nil {
		t.Fatal(err)
	}
	resources := []string{"secrets", "widgets.example.com", "gadgets.example.com", "things.example.org"}
	pass, calls, deaths, written := &rewrite.Pass{}, 0, 0, 0
	for {
		calls++
		complete, err := pass.Advance(t.Context(), p.api, resources, since, 50)
		if err != nil {
			t.Fatal(err)
		}
		if complete {
			break
		}
		p.disturb()
		if rand.IntN(8) == 0 {
			written += pass.Written
			pass, deaths = &rewrite.Pass{}, deaths+1
		}
	}
	written += pass.Written
	for _, key := range []string{"/registry/secrets/", "/registry/example.com/widgets/"} {
		plain, all := p.countPlain(key)
		if plain > 0 || all == 0 {
			t.Errorf("of %d objects at %s, %d are in plain text", all, key, plain)
		}
	}
	t.Logf("%d objects were written in %d calls by %d processes", written, calls, deaths+1)
	if written > objects+1 || calls*50 < objects/2 {
		t.Errorf("%d objects were written in %d calls", written, calls)
	}
	if p.seen.Load() {
		t.Error("the content of an object has left the API server")
	}
	before := p.stored("/registry/secrets/")
	if complete, err := (&rewrite.Pass{}).Advance(t.Context(), p.api, resources, 1<<62, objects*2); !complete || err != nil {
		t.Errorf("another pass is complete: %v, %v", complete, err)
	}
	for key, value := range p.stored("/registry/secrets/") {
		if before[key] != value {
			t.Errorf("%s was written again", key)
			break
		}
	}
}

// disturb does what other clients do.
func (p *plane) disturb() {
	p.t.Helper()
	secrets, name := p.kube.CoreV1().Secrets("default"), "s-"+strconv.Itoa(rand.IntN(1100))
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, rand.Int())
	if _, err := secrets.Patch(p.t.Context(), name, "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil && !apierrors.IsNotFound(err) {
		p.t.Fatal(err)
	}
	if err := secrets.Delete(p.t.Context(), "s-"+strconv.Itoa(rand.IntN(1100)), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		p.t.Fatal(err)
	}
}

// An object that an API server refuses to write is named, without the message. The others are encrypted already, and are not
// written again.
func TestRefusedObjectsAreNamed(t *testing.T) {
	p := &plane{t: t, dir: t.TempDir()}
	p.start(true)
	defer p.stop()
	for _, name := range []string{"a", "stubborn", "z"} {
		p.put(name)
	}
	refuse := func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			if request.Method != http.MethodPatch || !strings.HasSuffix(request.URL.Path, "/stubborn") {
				return next.RoundTrip(request)
			}
			text := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"Invalid value: ` + confidential + `"}`
			return &http.Response{
				StatusCode: http.StatusUnprocessableEntity, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(text)), Request: request,
			}, nil
		})
	}
	config := p.at.RESTConfig()
	config.Wrap(refuse)
	api := rewrite.Cluster{REST: p.api.REST, Metadata: metadata.NewForConfigOrDie(config)}
	pass := &rewrite.Pass{}
	complete, err := pass.Advance(context.WithoutCancel(t.Context()), api, []string{"secrets"}, 1<<62, 100)
	failed, ok := errors.AsType[*rewrite.FailedError](err)
	if !complete || !ok || failed.Count != 1 || pass.Seen != 3 || pass.Written != 0 {
		t.Fatalf("the pass is complete %v, has seen %d and written %d, and %v", complete, pass.Seen, pass.Written, err)
	}
	if text := err.Error(); !strings.Contains(text, "secrets default/stubborn (Invalid)") || strings.Contains(text, confidential) {
		t.Errorf("the error is %s", text)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
