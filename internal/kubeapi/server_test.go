package kubeapi_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aws-operator/aws-operator/internal/kubeapi"
	"github.com/aws-operator/aws-operator/internal/patience"
)

func TestTypedClientsCreateListWatchAndPatch(t *testing.T) {
	server, admin := serve(t)
	clients := kubernetes.NewForConfigOrDie(admin)
	if v, err := clients.Discovery().ServerVersion(); err != nil || v.GitVersion != "v1.36.3" {
		t.Errorf("version: %v, %v", v, err)
	}
	root, err := clients.RESTClient().Get().AbsPath("/").DoRaw(t.Context())
	if err != nil || !strings.Contains(string(root), `"/api/v1"`) || !strings.Contains(string(root), `"/apis/apps/v1"`) {
		t.Errorf("the root of the API is %s, %v", root, err)
	}
	nodes := clients.CoreV1().Nodes()
	if err := server.Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"zone": "1"}}}); err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(clients, 0)
	informer := factory.Core().V1().Nodes()
	seen := make(chan string, 16)
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { seen <- "add " + obj.(*corev1.Node).Name },
		UpdateFunc: func(_, obj any) { seen <- "update " + obj.(*corev1.Node).Name },
		DeleteFunc: func(obj any) { seen <- "delete " + obj.(*corev1.Node).Name },
	}); err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	expect(t, seen, "add a")
	if _, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(t, seen, "add b")
	patched, err := nodes.Patch(
		t.Context(),
		"b",
		types.StrategicMergePatchType,
		[]byte(`{"metadata":{"labels":{"zone":"1"}}}`),
		metav1.PatchOptions{},
	)
	if err != nil || patched.Labels["zone"] != "1" {
		t.Fatalf("patched node: %v, %v", patched, err)
	}
	expect(t, seen, "update b")
	list, err := nodes.List(t.Context(), metav1.ListOptions{LabelSelector: "zone=1"})
	if err != nil || len(list.Items) != 2 {
		t.Errorf("nodes of the zone: %v, %v", list, err)
	}
	if err := nodes.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(t, seen, "delete a")
}

func TestStatusWriteChangesOnlyTheStatusAndStaleObjectsConflict(t *testing.T) {
	_, admin := serve(t)
	nodes := kubernetes.NewForConfigOrDie(admin).CoreV1().Nodes()
	node, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	old := node.DeepCopy()
	node.Labels = map[string]string{"lost": "yes"}
	node.Status.NodeInfo.KubeletVersion = "v1.36.3"
	updated, err := nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	if err != nil || updated.Status.NodeInfo.KubeletVersion != "v1.36.3" || updated.Labels["lost"] != "" {
		t.Errorf("after a write of the status: %+v, %v", updated, err)
	}
	if _, err := nodes.Update(t.Context(), old, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("a write of an old object ended with %v, want a conflict", err)
	}
}

// The client of controller-runtime speaks protobuf for the built-in kinds.
func TestTheClientOfControllersWritesAndApplies(t *testing.T) {
	_, admin := serve(t)
	c, err := client.New(admin, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "s"}, StringData: map[string]string{"k": "v"}}
	if err := c.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	read := &corev1.Secret{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(secret), read); err != nil || string(read.Data["k"]) != "v" {
		t.Errorf("secret: %v, %v", read.Data, err)
	}
	if err := c.Get(t.Context(), types.NamespacedName{Namespace: "kube-system", Name: "none"}, read); !apierrors.IsNotFound(err) {
		t.Errorf("reading what is not there ended with %v", err)
	}
	if err := c.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "nowhere", Name: "s"}}); !apierrors.IsNotFound(
		err,
	) {
		t.Errorf("creating in a namespace that is not there ended with %v", err)
	}
}

func TestUnknownClientsAreRejectedAndTokensOnlyRead(t *testing.T) {
	server, admin := serve(t)
	stranger := rest.AnonymousClientConfig(admin)
	if _, err := kubernetes.NewForConfigOrDie(stranger).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(
		err,
	) {
		t.Errorf("a stranger's list ended with %v", err)
	}
	if err := server.Put(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-abcdef"},
		Data:       map[string][]byte{"token-id": []byte("abcdef"), "token-secret": []byte("0123456789abcdef")},
	}); err != nil {
		t.Fatal(err)
	}
	stranger.BearerToken = "abcdef.0123456789abcdef"
	node := kubernetes.NewForConfigOrDie(stranger)
	if _, err := node.CoreV1().ConfigMaps("kube-public").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("a token's list ended with %v", err)
	}
	err := node.CoreV1().ConfigMaps("kube-public").Delete(t.Context(), "any", metav1.DeleteOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("a token's delete ended with %v", err)
	}
}

func expect(t *testing.T, seen <-chan string, want string) {
	t.Helper()
	if got := patience.Receive(t, "to see "+want, seen); got != want {
		t.Fatalf("saw %q, want %q", got, want)
	}
}

// serve returns an API behind TLS and the configuration of its administrator.
func serve(t *testing.T) (*kubeapi.Server, *rest.Config) {
	t.Helper()
	return serveWith(t, kubeapi.Options{})
}

func serveWith(t *testing.T, o kubeapi.Options) (*kubeapi.Server, *rest.Config) {
	t.Helper()
	keyPair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := clock.RealClock{}.Now()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	authorityDER := sign(t, authority, authority, keyPair)
	admin := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "admin"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	adminDER := sign(t, admin, authority, keyPair)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authorityDER})) {
		t.Fatal("the authority cannot be read")
	}
	o.Authority, o.Kubernetes = pool, "v1.36.3"
	server := kubeapi.New(o)
	t.Cleanup(server.Close)
	front := httptest.NewUnstartedServer(server)
	front.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	front.StartTLS()
	t.Cleanup(front.Close)
	keyDER, err := x509.MarshalECPrivateKey(keyPair)
	if err != nil {
		t.Fatal(err)
	}
	return server, &rest.Config{Host: front.URL, TLSClientConfig: rest.TLSClientConfig{
		CAData:   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}),
		CertData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: adminDER}),
		KeyData:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}, QPS: -1}
}

func sign(t *testing.T, certificate, authority *x509.Certificate, keyPair *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, certificate, authority, keyPair.Public(), keyPair)
	if err != nil {
		t.Fatal(err)
	}
	return der
}
