package nodeup_test

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/aws-operator/aws-operator/internal/cluster/bootstrap/bundle"
	"github.com/aws-operator/aws-operator/internal/nodeup"
)

// askedCertificate is a request for a certificate, as workers make it.
type askedCertificate struct {
	Metadata struct {
		Annotations map[string]string
	}
	Spec struct {
		Request           []byte
		SignerName        string
		ExpirationSeconds int
		Usages            []string
	}
}

// certificateAPI is a cluster's API that decides about certificates: it denies the first, and
// approves the others when they are asked for the second time.
type certificateAPI struct {
	mu      sync.Mutex
	denials int
	asked   []askedCertificate
	looks   int
}

func (a *certificateAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case r.URL.Path == "/api/v1/namespaces/kube-public/configmaps/cluster-info":
	case r.Header.Get("Authorization") != "Bearer "+token:
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodPost && r.URL.Path == requests:
		var one askedCertificate
		if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		a.asked, a.looks = append(a.asked, one), 0
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"metadata":{"name":"nodeup-x"},"status":{}}`))
	case r.URL.Path != requests+"/nodeup-x":
		w.WriteHeader(http.StatusForbidden)
	case len(a.asked) <= a.denials:
		_, _ = w.Write(
			[]byte(`{"metadata":{"name":"nodeup-x"},"status":{"conditions":[{"type":"Denied","message":"EC2 has no such instance."}]}}`),
		)
	case a.looks == 0:
		a.looks++
		_, _ = w.Write([]byte(`{"metadata":{"name":"nodeup-x"},"status":{"conditions":[{"type":"Approved"}]}}`))
	default:
		_, _ = w.Write([]byte(`{"metadata":{"name":"nodeup-x"},"status":{"conditions":[{"type":"Approved"}],"certificate":"c2lnbmVk"}}`))
	}
}

// newProvingWorker returns a worker that proves which instance it is to an API.
func newProvingWorker(t *testing.T, denials int) (*machine, *certificateAPI) {
	t.Helper()
	api := &certificateAPI{denials: denials}
	server := httptest.NewTLSServer(api)
	t.Cleanup(server.Close)
	b := worker()
	b.API, b.Join = found(server), &bundle.Join{STSHost: "sts.eu-central-1.amazonaws.com"}
	b.Kubeadm.Config = "name: ${NODE_NAME}\n"
	m := newMachine(t, b)
	m.options.AWS.Credentials = credentials.NewStaticCredentialsProvider("ASIAX", "very-secret", "session")
	return m, api
}

func TestWorkerProvesItsInstanceBeforeItJoins(t *testing.T) {
	m, api := newProvingWorker(t, 0)
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	if len(api.asked) != 1 {
		t.Fatalf("it asked for %d certificates", len(api.asked))
	}
	asked := api.asked[0]
	block, _ := pem.Decode(asked.Spec.Request)
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if request.Subject.CommonName != "system:node:"+ownName || !slices.Equal(request.Subject.Organization, []string{"system:nodes"}) {
		t.Errorf("it asked as %s", request.Subject)
	}
	if asked.Spec.SignerName != "kubernetes.io/kube-apiserver-client-kubelet" || asked.Spec.ExpirationSeconds != 3600 ||
		!slices.Equal(asked.Spec.Usages, []string{"digital signature", "client auth"}) {
		t.Errorf("it asked for %+v", asked.Spec)
	}
	proof := asked.Metadata.Annotations["cluster-operator.aws/instance-proof"]
	if !strings.Contains(proof, "Action=GetCallerIdentity") || strings.Contains(proof, "very-secret") {
		t.Errorf("its proof is %s", proof)
	}
	if calls := m.calls(t); strings.Count(calls, "kubeadm join") != 1 {
		t.Errorf("it called %s", calls)
	}
	if tree := m.tree(t); strings.Contains(tree, "client-key-data") || strings.Contains(tree, token) {
		t.Error("the key or the token that it joined with is left behind")
	}
}

func TestDeniedWorkerReportsTheReasonAndRetries(t *testing.T) {
	m, api := newProvingWorker(t, 1)
	if err := nodeup.Run(t.Context(), m.options); err != nil {
		t.Fatal(err)
	}
	if len(api.asked) != 2 || !strings.Contains(m.log.String(), "is Denied: EC2 has no such instance.") {
		t.Errorf("it asked for %d certificates: %s", len(api.asked), m.log)
	}
}

// A token of kubeadm's group is enough for a certificate of any Node, so slots to which workers
// prove who they are do not keep it.
func TestTokenForProvenWorkersCanOnlyRequestCertificates(t *testing.T) {
	k := newKeeperOf(t, &bundle.Join{STSHost: "sts.eu-central-1.amazonaws.com", WorkerRole: "arn:aws:iam::123456789012:role/worker"})
	k.api.secrets = []map[string][]byte{{
		"token-id": []byte("former"), "expiration": []byte("2030-01-01T00:00:00Z"),
		"description":       []byte("Lets the machines of instance groups join; made by nodeup."),
		"auth-extra-groups": []byte("system:bootstrappers:kubeadm:default-node-token"),
	}}
	k.start(t)
	if len(k.api.secrets) != 2 {
		t.Fatalf("there are %d tokens", len(k.api.secrets))
	}
	if group := string(k.api.secrets[1]["auth-extra-groups"]); group != "system:bootstrappers:cluster-operator:workers" {
		t.Errorf("the token is of %s", group)
	}
}
