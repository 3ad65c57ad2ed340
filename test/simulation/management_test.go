package simulation

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/kubeapi"
)

func init() {
	for kind, plural := range map[string]string{"Cluster": "clusters", "InstanceGroup": "instancegroups"} {
		kubeapi.Register(v1alpha1.GroupVersion.WithKind(kind), plural, true)
	}
	kubeapi.Register(v1alpha1.GroupVersion.WithKind("Release"), "releases", false)
	kubeapi.Register(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, "customresourcedefinitions", false)
}

// management is the API of the cluster that the operator runs in.
type management struct {
	api         *kubeapi.Server
	certificate *x509.Certificate
}

// managementAddress is where it is.
var managementAddress = netip.MustParseAddrPort("192.0.2.10:80")

// newManagement serves a management cluster in the network until the test ends.
func newManagement(t *testing.T, n *network) *rest.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "management"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	m := &management{}
	if m.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(m.certificate)
	m.api = kubeapi.New(kubeapi.Options{Authority: pool, Kubernetes: "v1.36.3"})
	socket, err := n.listen(managementAddress)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: m, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(socket) }()
	transport := &http.Transport{DialContext: n.dial, MaxIdleConnsPerHost: 16}
	t.Cleanup(func() {
		m.api.Close()
		transport.CloseIdleConnections()
		_ = server.Close()
	})
	return &rest.Config{Host: "http://" + managementAddress.String(), Transport: gentle{transport}, QPS: -1}
}

// gentle ends the answers of cancelled requests without an error: watches of metadata leave a goroutine behind
// that wants to tell of it (k8s.io/apimachinery/pkg/watch.Filter), and no bubble ends before its goroutines.
type gentle struct{ next http.RoundTripper }

func (g gentle) RoundTrip(req *http.Request) (*http.Response, error) {
	response, err := g.next.RoundTrip(req)
	if err == nil {
		response.Body = gentleBody{response.Body, req}
	}
	return response, err
}

type gentleBody struct {
	io.ReadCloser
	req *http.Request
}

func (b gentleBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil && b.req.Context().Err() != nil {
		err = io.EOF
	}
	return n, err
}

// ServeHTTP answers a request of somebody who may do everything.
func (m *management) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	req.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{m.certificate}}
	if strings.HasPrefix(req.URL.Path, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/") {
		establish(w, req)
		return
	}
	if strings.Contains(req.Header.Get("Accept"), "as=PartialObjectMetadata") && req.URL.Query().Get("watch") == "" {
		m.metadata(w, req)
		return
	}
	m.api.ServeHTTP(w, req)
}

// establish says of every definition that it is in force: the kinds are served anyway.
func establish(w http.ResponseWriter, req *http.Request) {
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:], ResourceVersion: "1", Generation: 1},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
			{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}, {Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue},
		}},
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(crd)
}

// metadata shows objects without what they hold.
func (m *management) metadata(w http.ResponseWriter, req *http.Request) {
	recorder := httptest.NewRecorder()
	m.api.ServeHTTP(recorder, req)
	var whole map[string]any
	if err := json.Unmarshal(recorder.Body.Bytes(), &whole); err != nil || recorder.Code != http.StatusOK {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes())
		return
	}
	whole["apiVersion"] = "meta.k8s.io/v1"
	whole["kind"] = "PartialObjectMetadata"
	if items, ok := whole["items"].([]any); ok {
		whole["kind"] = "PartialObjectMetadataList"
		for _, item := range items {
			if object, ok := item.(map[string]any); ok {
				object["apiVersion"], object["kind"] = "meta.k8s.io/v1", "PartialObjectMetadata"
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(whole)
}
