package fake

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/patience"
	"github.com/aws-operator/aws-operator/internal/simulator/machine"
)

const bucket = "cluster"

// suite is a host with one cluster. Its machines skip the steps in AWS.
type suite struct {
	t     *testing.T
	host  *Host
	files map[string][]byte
	admin *rest.Config
}

func newSuite(t *testing.T, o Options) *suite {
	t.Helper()
	w := &suite{t: t, host: New(o), files: map[string][]byte{}}
	t.Cleanup(w.host.Close)
	authority, authorityKey := certificate(t, nil, nil)
	w.files["/etc/kubernetes/pki/ca.crt"], w.files["/etc/kubernetes/pki/ca.key"] = authority, authorityKey
	admin, adminKey := certificate(t, authority, authorityKey)
	w.admin = &rest.Config{
		Host: "https://kubernetes", QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: authority, CertData: admin, KeyData: adminKey, ServerName: "kubernetes"},
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			for _, slot := range []string{"slot-0", "slot-1", "slot-2"} { // like a load balancer
				if c, err := w.host.Dial(ctx, slot, apiPort); err == nil {
					return c, nil
				}
			}
			return nil, refused("every slot", apiPort)
		},
	}
	return w
}

// join starts a machine that runs a Node; a slot has a number, a worker has -1.
func (w *suite) join(id, image string, slot int) {
	w.t.Helper()
	m := &fakeMachine{host: w.host, stop: func() {}, log: logr.Discard(), spec: machine.Spec{
		InstanceID: id, ImageID: image, Zone: "eu-central-1a", PrivateDNSName: "node-" + id, PrivateIP: netip.MustParseAddr("10.0.0.1"),
	}}
	b := &bundle.Bundle{Version: bundle.Version, Role: bundle.Worker, Kubernetes: "v1.36.3", Architecture: "amd64"}
	if slot >= 0 {
		b.Role, b.Etcd = bundle.ControlPlane, &bundle.Etcd{Slot: slot, Members: map[string]string{"0": "a", "1": "b", "2": "c"}}
		b.Kubeadm.Config = "kind: ClusterConfiguration\ncontrolPlaneEndpoint: api:6443\n"
	}
	w.host.mu.Lock()
	w.host.machines[id] = m
	w.host.mu.Unlock()
	c, err := w.host.cluster(bucket, func() (*cluster, error) { return newCluster(&w.host.options, bucket, b, w.files) })
	if err != nil {
		w.t.Fatal(err)
	}
	if err := m.enter(c, b, slot >= 0); err != nil {
		w.t.Fatal(err)
	}
}

// ready queries a slot's readiness through the API server of another slot.
func (w *suite) ready(slot string) (string, error) {
	answer, err := kubernetes.NewForConfigOrDie(w.admin).CoreV1().RESTClient().Get().
		AbsPath("/api/v1/namespaces/kube-system/pods/https:kube-apiserver-node-" + slot + ":6443/proxy/readyz").DoRaw(w.t.Context())
	return string(answer), err
}

func (w *suite) nodeReady(id string) corev1.ConditionStatus {
	w.t.Helper()
	api, _ := w.host.API(bucket)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + id}}
	if err := api.Get(node); err != nil {
		w.t.Fatal(err)
	}
	return node.Status.Conditions[0].Status
}

func TestSlotReadinessIsReachableThroughAnyAPIServer(t *testing.T) {
	w := newSuite(t, Options{})
	for slot := range 3 {
		w.join(fmt.Sprintf("slot-%d", slot), "ami-1", slot)
	}
	for _, slot := range []string{"slot-0", "slot-1", "slot-2"} {
		if answer, err := w.ready(slot); err != nil || answer != "ok" {
			t.Errorf("%s answers %q, %v", slot, answer, err)
		}
	}
	if err := w.host.SetMember("slot-2", false); err != nil {
		t.Fatal(err)
	}
	if answer, err := w.ready("slot-2"); err == nil || !strings.Contains(answer+err.Error(), "[-]etcd failed: reason withheld") {
		t.Errorf("a slot without etcd answers %q, %v", answer, err)
	}
	if answer, err := w.ready("slot-1"); err != nil || answer != "ok" {
		t.Errorf("the others answer %q, %v", answer, err)
	}
	w.host.Terminate("slot-2")
	if _, err := w.ready("slot-2"); err == nil || !strings.Contains(err.Error(), "not find") {
		t.Errorf("a terminated slot answers %v", err)
	}
}

func TestAPIAndConnectionsEndWithQuorum(t *testing.T) {
	w := newSuite(t, Options{})
	w.join("slot-0", "ami-1", 0)
	w.join("slot-1", "ami-1", 1)
	nodes := kubernetes.NewForConfigOrDie(w.admin).CoreV1().Nodes()
	watch, err := nodes.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	w.host.Terminate("slot-1")
	deadline := time.After(patience.Left(t))
	for open := true; open; {
		select {
		case _, open = <-watch.ResultChan():
		case <-deadline:
			t.Fatal("the watch goes on without a quorum")
		}
	}
	if _, err := nodes.List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("the API answers without a quorum")
	}
	w.join("slot-2", "ami-1", 2)
	if list, err := nodes.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 2 {
		t.Errorf("with a quorum again: %v, %v", list, err)
	}
}

func TestMachinesFailOnRequest(t *testing.T) {
	w := newSuite(t, Options{})
	w.host.SetImage("ami-bad", Behaviour{NotReady: true})
	w.join("slot-0", "ami-1", 0)
	w.join("bad", "ami-bad", -1)
	w.join("good", "ami-1", -1)
	if bad, good := w.nodeReady("bad"), w.nodeReady("good"); bad != corev1.ConditionFalse || good != corev1.ConditionTrue {
		t.Errorf("the bad image's node is Ready=%s, the good one's Ready=%s", bad, good)
	}
	for _, test := range []struct {
		works bool
		want  corev1.ConditionStatus
	}{{false, corev1.ConditionUnknown}, {true, corev1.ConditionTrue}} {
		if err := w.host.SetKubelet("good", test.works); err != nil {
			t.Fatal(err)
		}
		if got := w.nodeReady("good"); got != test.want {
			t.Errorf("with a kubelet that works: %t, the node is Ready=%s", test.works, got)
		}
	}
	if err := w.host.SetKubelet("none", false); err == nil {
		t.Error("a machine that is not there has a kubelet")
	}
}

// synctest fails the test if anything still runs after the host is closed. In virtual time nothing
// polls.
func TestPodsStartInVirtualTimeWithoutLeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSuite(t, Options{PodStart: time.Hour})
		w.join("slot-0", "ami-1", 0)
		w.join("worker", "ami-1", -1)
		api, _ := w.host.API(bucket)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}, Spec: corev1.PodSpec{NodeName: "node-worker"}}
		if err := api.Put(pod); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Minute)
		if err := api.Get(pod); err != nil || pod.Status.Phase == corev1.PodRunning {
			t.Errorf("before its time the pod is %s, %v", pod.Status.Phase, err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if err := api.Get(pod); err != nil || pod.Status.Phase != corev1.PodRunning {
			t.Errorf("after its time the pod is %s, %v", pod.Status.Phase, err)
		}
		w.host.Close()
	})
}

// certificate creates a CA, or a certificate with all rights that the CA signed.
func certificate(t *testing.T, authority, authorityKey []byte) (certPEM, keyPEM []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "test"}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(24 * time.Hour),
		IsCA:     authority == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	parent, signer := template, any(key)
	if authority != nil {
		pair, err := tls.X509KeyPair(authority, authorityKey)
		if err != nil {
			t.Fatal(err)
		}
		parent, signer = pair.Leaf, pair.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(
		&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER},
	)
}

// kubeadm refuses them, and the DNS names of AWS's load balancers have them.
func TestSlotRefusesUppercaseName(t *testing.T) {
	const name = "demo-APILo-aB3dE5gH7iJ9-0123456789abcdef.elb.eu-central-1.amazonaws.com"
	for field, config := range map[string]string{
		"the endpoint":           "kind: ClusterConfiguration\ncontrolPlaneEndpoint: " + name + ":6443\n",
		"a name of certificates": "kind: ClusterConfiguration\ncontrolPlaneEndpoint: api:6443\napiServer: {certSANs: [" + name + "]}\n",
	} {
		if _, err := namesOf(config); err == nil || !strings.Contains(err.Error(), "kubeadm refuses") {
			t.Errorf("%s: %v", field, err)
		}
	}
}
