package nodeup_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/aws-operator/aws-operator/api/cluster/v1alpha1"
	"github.com/aws-operator/aws-operator/internal/cluster/release"
)

// TestAPIServerVerifiesKubelets boots a slot and a worker whose kubelets request serving certificates. The
// slot approves them with the permissions of its role, the real kube-controller-manager issues them, and the
// real kube-apiserver reaches both kubelets, but not one that serves under an address that is not in its
// certificate. With the worker's own certificate, an attacker gets none for other addresses and names.
func TestAPIServerVerifiesKubelets(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	l := newSuite(t, release.Set120, 1, func(spec *v1alpha1.ClusterSpec) {
		spec.Certificates = &v1alpha1.Certificates{KubeletServing: v1alpha1.KubeletsVerified}
	})
	cas, api := l.newCAs()
	l.startSlots()
	l.joinWorker(api, cas.CACertificate())
	slot, worker := l.slotAndWorker(api)
	for _, node := range []*corev1.Node{slot, worker} {
		l.await("the API server verifies the kubelet of "+node.Name, func() error { return healthOf(l, api, node.Name) })
	}
	l.attack(api, cas.CACertificate(), slot, worker)

	const other = "198.51.100.7"
	l.inside(instanceOf(slot), "ip address add "+other+"/32 dev lo")
	// Other patches would merge the addresses.
	patch := `[{"op":"replace","path":"/status/addresses","value":[{"type":"InternalIP","address":"` + other + `"}]}]`
	_, err := api.CoreV1().Nodes().Patch(t.Context(), worker.Name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	l.await("the API server refuses a kubelet under an address that is not in its certificate", func() error {
		err := healthOf(l, api, worker.Name)
		if err == nil || !strings.Contains(err.Error(), "certificate is valid for") {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
}

// slotAndWorker returns the two nodes of a cluster.
func (l *suite) slotAndWorker(api kubernetes.Interface) (slot, worker *corev1.Node) {
	l.t.Helper()
	l.await("both are nodes", func() error {
		nodes, err := api.CoreV1().Nodes().List(l.t.Context(), metav1.ListOptions{})
		if err != nil || len(nodes.Items) != 2 {
			return fmt.Errorf("there are %d, %w", len(nodes.Items), err)
		}
		slot, worker = &nodes.Items[0], &nodes.Items[1]
		if _, isSlot := worker.Labels["node-role.kubernetes.io/control-plane"]; isSlot {
			slot, worker = worker, slot
		}
		return nil
	})
	return slot, worker
}

func instanceOf(node *corev1.Node) string {
	return node.Spec.ProviderID[strings.LastIndexByte(node.Spec.ProviderID, '/')+1:]
}

// healthOf asks a kubelet for its health, through the API server.
func healthOf(l *suite, api kubernetes.Interface, node string) error {
	answer, err := api.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes/" + node + "/proxy/healthz").DoRaw(l.t.Context())
	if err != nil || string(answer) != "ok" {
		return fmt.Errorf("%s answers %q, %w", node, answer, err)
	}
	return nil
}

// attack requests serving certificates with the credentials of a worker's kubelet.
func (l *suite) attack(api kubernetes.Interface, ca []byte, slot, worker *corev1.Node) {
	l.t.Helper()
	credentials := []byte(l.inside(instanceOf(worker), "cat /var/lib/kubelet/pki/kubelet-client-current.pem"))
	server, serverName := l.server()
	kubelet := kubernetes.NewForConfigOrDie(&rest.Config{Host: server, TLSClientConfig: rest.TLSClientConfig{
		CAData: ca, ServerName: serverName, CertData: credentials, KeyData: credentials,
	}})
	for name, asked := range map[string]*x509.CertificateRequest{
		"the slot's address":    {IPAddresses: []net.IP{net.ParseIP(slot.Status.Addresses[0].Address)}},
		"the slot's name":       {DNSNames: []string{worker.Name, slot.Name}},
		"the API server's name": {DNSNames: []string{"kubernetes.default.svc"}},
		"the Service's address": {IPAddresses: []net.IP{net.ParseIP("172.20.0.1")}},
	} {
		requested := l.requestServing(kubelet, worker.Name, asked)
		l.await("the request with "+name+" is denied", func() error {
			got, err := api.CertificatesV1().CertificateSigningRequests().Get(l.t.Context(), requested, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if len(got.Status.Certificate) > 0 {
				l.t.Fatalf("a worker gets a certificate with %s", name)
			}
			if len(got.Status.Conditions) != 1 || got.Status.Conditions[0].Type != certificatesv1.CertificateDenied {
				return fmt.Errorf("it is %+v", got.Status.Conditions)
			}
			l.t.Logf("with %s: %s", name, got.Status.Conditions[0].Message)
			return nil
		})
	}
}

// requestServing requests a serving certificate and returns the request's name.
func (l *suite) requestServing(kubelet kubernetes.Interface, node string, asked *x509.CertificateRequest) (name string) {
	l.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		l.t.Fatal(err)
	}
	asked.Subject = pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}
	der, err := x509.CreateCertificateRequest(rand.Reader, asked, key)
	if err != nil {
		l.t.Fatal(err)
	}
	request := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeletServingSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
		},
	}
	l.await("the request is written", func() error {
		made, err := kubelet.CertificatesV1().CertificateSigningRequests().Create(l.t.Context(), request, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		name = made.Name
		return nil
	})
	return name
}
