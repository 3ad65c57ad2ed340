package workload

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aws-operator/aws-operator/internal/kubeapi"
	"github.com/aws-operator/aws-operator/internal/patience"
)

// fixed is a token that never changes.
type fixed string

func (f fixed) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		request = request.Clone(request.Context())
		request.Header.Set("Authorization", "Bearer "+string(f))
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// serveEKS serves an API that accepts one token.
func serveEKS(t *testing.T) (*kubeapi.Server, Endpoint) {
	t.Helper()
	api := kubeapi.New(kubeapi.Options{Kubernetes: "v1.36.0-eks-simulated"})
	t.Cleanup(api.Close)
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer token" {
			api.ServeHTTP(w, req) // refuses it
			return
		}
		api.Trusted().ServeHTTP(w, req)
	}))
	front.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	front.StartTLS()
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	return api, Endpoint{Server: front.URL, CA: ca, Tokens: fixed("token"), Principal: "operator"}
}

// newEKSClusters returns connections that ask EC2 about Nodes of clusters that the operator runs.
func newEKSClusters(t *testing.T) (clusters *Clusters, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	clusters = New(Options{})
	clusters.IdentifyWith(func(context.Context, types.NamespacedName, []string) (map[string]Identity, error) {
		asked.Add(1)
		return ec2Says, nil
	})
	return clusters, asked
}

// EC2 decides of which instance group a Node of EKS is. It is not asked about Nodes of no group, which EKS may have launched.
func TestNodesOfEKSAreInTheGroupOfTheirInstance(t *testing.T) {
	api, at := serveEKS(t)
	clusters, asked := newEKSClusters(t)
	changes := make(chan Change, 100)
	clusters.Subscribe(func(c Change) { changes <- c })
	key := types.NamespacedName{Namespace: "a", Name: "eks"}
	cluster, err := clusters.ConnectEKS(key, at)
	if err != nil {
		t.Fatal(err)
	}
	defer clusters.Close(key)
	if change := patience.Receive(t, "the cluster is reachable", changes); !change.Whole {
		t.Errorf("the first change is %+v", change)
	}
	put := func(name, instance string, labels map[string]string) Node {
		t.Helper()
		if err := api.Put(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-central-1a/" + instance},
		}); err != nil {
			t.Fatal(err)
		}
		var node Node
		patience.Until(t, "the node is known", func() error {
			i := slices.IndexFunc(cluster.Nodes(), func(n Node) bool { return n.Name == name })
			if i < 0 {
				return errors.New("it is missing")
			}
			if node = cluster.Nodes()[i]; node.InstanceID == "" && node.Problem == "" {
				return errors.New("EC2 has not answered")
			}
			return nil
		})
		return node
	}
	automatic := put("ip-10-0-9-9.ec2.internal", "i-automatic", nil)
	if automatic.InstanceID != "i-automatic" || automatic.Group != "" || automatic.Problem != "" || asked.Load() != 0 {
		t.Errorf("a Node of no group is %+v; EC2 was called %d times", automatic, asked.Load())
	}
	if in, _, ok := clusters.NodeOf("i-automatic"); ok {
		t.Errorf("a Node of no group gets the events of an instance that may be of another cluster than %s", in.Key())
	}
	worker := put("ip-10-0-0-1.ec2.internal", "i-1", map[string]string{groupLabel: "g", slotLabel: "0"})
	if worker.InstanceID != "i-1" || worker.Group != "g" || !strings.Contains(worker.Problem, "slot 0") {
		t.Errorf("the node is %+v", worker)
	}
	if in, node, ok := clusters.NodeOf("i-1"); !ok || in.Key() != key || node.Group != "g" {
		t.Error("a Node that EC2 confirms does not get the events of its instance")
	}
	liar := put("ip-10-0-0-9.ec2.internal", "i-slot", map[string]string{groupLabel: "g"})
	if liar.Group == "g" || liar.Problem == "" {
		t.Errorf("a Node of another group is %+v", liar)
	}
	if _, err := cluster.Core().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{}); err != nil {
		t.Errorf("other requests have no token: %v", err)
	}
}

func TestAnotherPrincipalMakesAnotherConnectionToEKS(t *testing.T) {
	_, at := serveEKS(t)
	clusters, _ := newEKSClusters(t)
	key := types.NamespacedName{Namespace: "a", Name: "eks"}
	defer clusters.Close(key)
	connect := func(at Endpoint) *Cluster {
		t.Helper()
		cluster, err := clusters.ConnectEKS(key, at)
		if err != nil {
			t.Fatal(err)
		}
		return cluster
	}
	first := connect(at)
	if connect(at) != first {
		t.Error("the same endpoint made another connection")
	}
	at.Principal = "another"
	if connect(at) == first {
		t.Error("another principal uses the connection")
	}
}

func TestRefusedTokensMakeEKSUnreachable(t *testing.T) {
	_, at := serveEKS(t)
	at.Tokens = fixed("unknown")
	clusters, _ := newEKSClusters(t)
	key := types.NamespacedName{Namespace: "a", Name: "eks"}
	cluster, err := clusters.ConnectEKS(key, at)
	if err != nil {
		t.Fatal(err)
	}
	defer clusters.Close(key)
	patience.Until(t, "the cluster is unreachable", func() error {
		if reachable, problem := cluster.Reachable(); reachable || problem != "Unauthorized" {
			return fmt.Errorf("reachable: %t, %s", reachable, problem)
		}
		return nil
	})
}

// Without a CA, the connection would trust every certificate that the system does.
func TestEndpointOfEKSNeedsHTTPSAndACA(t *testing.T) {
	_, at := serveEKS(t)
	clusters, _ := newEKSClusters(t)
	for name, c := range map[string]struct {
		change  func(*Endpoint)
		problem string
	}{
		"no encryption": {func(e *Endpoint) { e.Server = strings.Replace(e.Server, "https", "http", 1) }, "is not an HTTPS URL"},
		"no endpoint":   {func(e *Endpoint) { e.Server = "" }, "is not an HTTPS URL"},
		"no CA":         {func(e *Endpoint) { e.CA = nil }, "has no CA"},
	} {
		bad := at
		c.change(&bad)
		if _, err := clusters.ConnectEKS(types.NamespacedName{Name: "eks"}, bad); err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
